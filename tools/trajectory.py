"""Opening a trajectory, and its parts."""
import os

import h5py
import numpy as np
from kinds import wrong_file
from scripts import shell_path  # found by kinds


def open_trajectory(path):
    """h5py.File for reading; OSError names the file and says what to do: where a writer has left it marked or is at work, where
    there are no locks, and where it is no trajectory."""
    try:
        return h5py.File(path, "r")
    except OSError as error:
        if os.path.isfile(path) and os.path.getsize(path) == 0:
            raise OSError(f"{path}: is empty; needed here: a trajectory (NAME.h5)") from error
        if "h5clear" in str(error):
            raise OSError(f"{path} is marked as open for writing: a run is still writing it, or was killed; then mend it by "
                          f"mdmini --recover {shell_path(path)}") from error
        if "unable to lock" in str(error):
            raise OSError(f"{path} cannot be locked: another program writes to it, or its file system has no locks; with "
                          f"HDF5_USE_FILE_LOCKING=FALSE in the environment it is read all the same ({error})") from error
        raise OSError(wrong_file(path, "trajectory", why=str(error).replace("Unable to open file (file signature not found)", "no HDF5 file"))) from error


NOT_OURS = "not as mdmini writes a trajectory"


def part(file, path, n_axes, n_frames=None):
    """A dataset of numbers with so many axes, the first as long as there are frames. ValueError names the file and what is wrong."""
    node = file.get(path)
    is_dataset = isinstance(node, h5py.Dataset)
    if node is None:
        why = "is missing"
    elif not is_dataset or node.dtype.kind not in "iuf":
        why = "is of " + (f"the type {node.dtype}, no number" if is_dataset else "the kind Group, no dataset")
    elif node.shape is None or node.ndim != n_axes:
        why = "is one number, not one a frame" if node.shape == () else f"has the shape {node.shape}, not {n_axes} axes"
    elif n_frames is not None and len(node) != n_frames:
        why = f"is of {len(node)} frames, and the positions are of {n_frames}"
    else:
        return node
    raise ValueError(f"{file.filename}: {path} {why}: {NOT_OURS}")


def attribute(file, path, name):
    """An attribute. ValueError as in part."""
    node = file.get(path)
    if node is None or name not in node.attrs:
        raise ValueError(f"{file.filename}: {path}{'' if node is None else f'@{name}'} is missing: {NOT_OURS}")
    return node.attrs[name]


def texts(value):
    """Those of an attribute, which HDF5 keeps as bytes or as str."""
    return [word.decode() if isinstance(word, bytes) else str(word) for word in np.atleast_1d(value)]
