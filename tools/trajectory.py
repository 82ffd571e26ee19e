"""Opening a trajectory."""
import h5py
from kinds import wrong_file


def open_trajectory(path):
    """h5py.File for reading; OSError names the file and says what to do: where a writer has left it marked or is at work, and
    where it is no trajectory."""
    try:
        return h5py.File(path, "r")
    except OSError as error:
        if "h5clear" in str(error):
            raise OSError(f"{path} is marked as open for writing: a run is still writing it, or was killed; then mend it by "
                          f"mdmini --recover {path}") from error
        raise OSError(wrong_file(path, "trajectory", why=str(error))) from error
