"""A detection as people read it."""

from patrol.cli.display import cell, console, table
from patrol.cli.issues import of_signal, print_issues
from signals.model import Detection


def print_detection(detection: Detection, *, with_looks: bool) -> None:
    """The signals, and on demand every look."""
    output = console()
    if detection.signals:
        print_issues(output, [of_signal(signal) for signal in detection.signals])
    else:
        output.print(f"No signals. Looks: {len(detection.examined)}.")
    if not with_looks:
        return
    looks = table(("Look", "Kind", "Resource", "Subject", "Reason"))
    for look in detection.examined:
        looks.add_row(look.look, look.kind, cell(look.resource_id), cell(look.subject), cell(look.reason))
    output.print()
    output.print(looks)
