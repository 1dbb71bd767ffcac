"""How much memory there is, and how to say it."""

import os


def available_memory() -> float:
    """Bytes that can be had now, the page cache included, which gives way; where the system does
    not tell, all that it has; infinity where it does not tell that either."""
    try:
        with open("/proc/meminfo") as meminfo:
            return next(1024.0 * int(row.split()[1]) for row in meminfo if "MemAvailable" in row)
    except (OSError, StopIteration):
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return float("inf")


def readable_bytes(amount: float) -> str:
    """'64 TiB', to three digits."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if amount < 1024:
            return f"{amount:.3g} {unit}"
        amount /= 1024
    return f"{amount:.3g} EiB"
