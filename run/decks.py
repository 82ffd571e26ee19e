"""Reading decks, as far as scripts need it."""
from pathlib import Path


def read_deck(path):
    """{section.key: value} of a deck."""
    section, found = "", {}
    for line in Path(path).read_text().splitlines():
        line = line.split("#")[0].strip()
        if line.startswith("["):
            section = line.strip("[]")
        elif line:
            key, value = (word.strip() for word in line.split("=", 1))
            found[f"{section}.{key}"] = value
    return found
