"""Opening a trajectory."""
import h5py
from kinds import wrong_file
from scripts import shell_path  # found by kinds


def open_trajectory(path):
    """h5py.File for reading; OSError names the file and says what to do: where a writer has left it marked or is at work, where
    there are no locks, and where it is no trajectory."""
    try:
        return h5py.File(path, "r")
    except OSError as error:
        if "h5clear" in str(error):
            raise OSError(f"{path} is marked as open for writing: a run is still writing it, or was killed; then mend it by "
                          f"mdmini --recover {shell_path(path)}") from error
        if "unable to lock" in str(error):
            raise OSError(f"{path} cannot be locked: another program writes to it, or its file system has no locks; with "
                          f"HDF5_USE_FILE_LOCKING=FALSE in the environment it is read all the same ({error})") from error
        raise OSError(wrong_file(path, "trajectory", why=str(error))) from error
