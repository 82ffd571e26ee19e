"""Opening a trajectory."""
import h5py


def open_trajectory(path):
    """h5py.File for reading; OSError says what to do where a writer has left the file marked, or is at work."""
    try:
        return h5py.File(path, "r")
    except OSError as error:
        if "h5clear" not in str(error):
            raise
        raise OSError(f"{path} is marked as open for writing: a run is still writing it, or was killed; then mend it by "
                      f"mdmini --recover {path}") from error
