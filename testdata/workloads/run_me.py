"""What the %run cell runs: its statements are not a cell's statements."""
import truth as T

T.gil.spike(b"top", 64 * T.MiB)
