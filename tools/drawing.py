"""What the pictures of all tools have in common: colours, hatches and markers, sizes in print, files.

A colour never stands alone: the hatch or marker beside it in SERIES tells the same in grey and to every eye."""
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

# Okabe and Ito, "Color Universal Design" (2008): told apart by colour-blind eyes.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7")
GREY, PALE = "#BBBBBB", "#F0F0F0"  # waits and what has no value; what is idle
# (colour, hatch of its bars, marker, dashes), in the order in which they are taken; yellow is too pale for lines.
SERIES = ((BLUE, "", "o", "-"), (ORANGE, "////", "s", "--"), (GREEN, "....", "^", "-."), (VERMILION, "xxxx", "D", ":"),
          (SKY, "\\\\\\\\", "v", "-"), (PURPLE, "++", "P", "--"), (BLACK, "oo", "X", "-."))

COLUMN, PAGE = 3.5, 7.1  # inches: one column and two of a journal; fonts are what they will be in print
STYLE = {"font.size": 8, "axes.labelsize": 8, "axes.titlesize": 8, "legend.fontsize": 7, "xtick.labelsize": 7,
         "ytick.labelsize": 7, "axes.linewidth": 0.7, "xtick.direction": "in", "ytick.direction": "in",
         "xtick.top": True, "ytick.right": True, "lines.linewidth": 1.2, "lines.markersize": 4, "hatch.linewidth": 0.5,
         "legend.frameon": False, "savefig.dpi": 300,
         "svg.fonttype": "none", "svg.hashsalt": "mdmini"}  # text stays text; the same figure has the same ids
# Of each format, what a file of it would say besides the picture, of the day and the library.
FORMATS = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}


def use_style():
    plt.rcParams.update(STYLE)


def label_ticks(axis, places, labels, **how):
    """Ticks with these labels; set_xticks takes labels only from matplotlib 3.5 on."""
    axis.set_ticks(places)
    axis.set_ticklabels(labels, **how)


def save(figure, prefix, formats=("png",)):
    """PREFIX.FORMAT of each format, without a date: the same figure is the same file. Returns the paths; closes the
    figure."""
    paths = [f"{prefix}.{kind}" for kind in formats]
    for kind, path in zip(formats, paths):
        figure.savefig(path, metadata=FORMATS[kind])
    plt.close(figure)
    return paths
