"""Which disk a document is about."""

from typing import NamedTuple

from patrol.estate.smartctl.document import Document, count, rows, section, text


class Identity(NamedTuple):
    """Names and numbers of a disk; "" or None where the document does not give them.

    `device` is the path without `/dev/`. `disk_type`: nvme, sata, sas or hdd (anything that spins).
    """

    device: str
    dev_path: str
    model: str
    serial: str
    wwn: str
    disk_type: str
    size_bytes: int | None
    rpm: int | None


def protocol(document: Document) -> str | None:
    """ATA, NVMe or SCSI, as smartctl names it, else by the sections that are there."""
    named = text(section(document, "device").get("protocol"))
    if named:
        return named
    for prefix, implied in (("nvme_", "NVMe"), ("ata_", "ATA"), ("scsi_", "SCSI")):
        if any(name.startswith(prefix) for name in document):
            return implied
    return None


def identity(document: Document) -> Identity:
    """Reads the names of the disk."""
    path = text(section(document, "device").get("name"))
    model = text(document.get("model_name")) or text(document.get("scsi_model_name"))
    if not model:
        parts = (
            document.get("scsi_vendor", document.get("vendor")),
            document.get("scsi_product", document.get("product")),
        )
        model = " ".join(filter(None, map(text, parts)))
    spins = count(document.get("rotation_rate"))
    size = count(section(document, "user_capacity").get("bytes")) or count(document.get("nvme_total_capacity"))
    return Identity(
        device=path.removeprefix("/dev/"),
        dev_path=path,
        model=model,
        serial=text(document.get("serial_number")),
        wwn=wwn(document),
        disk_type=_disk_type(document, spins),
        size_bytes=size or None,
        rpm=spins or None,
    )


def wwn(document: Document) -> str:
    """The world-wide name as the kernel writes it: `0x5000c500a1b2c3d4`, or `eui.…` for NVMe."""
    parts = section(document, "wwn")
    naa, oui, unique = (count(parts.get(name)) for name in ("naa", "oui", "id"))
    if (
        naa is not None
        and oui is not None
        and unique is not None
        and naa < 1 << 4
        and oui < 1 << 24
        and unique < 1 << 36
    ):
        return f"0x{naa:x}{oui:06x}{unique:09x}"
    unit = text(document.get("logical_unit_id")).lower()
    if unit.startswith("0x"):
        return unit
    namespaces = rows(document, "nvme_namespaces")
    eui = section(namespaces[0], "eui64") if len(namespaces) == 1 else {}
    oui, unique = count(eui.get("oui")), count(eui.get("ext_id"))
    if oui and unique is not None and oui < 1 << 24 and unique < 1 << 40:
        return f"eui.{oui:06x}{unique:010x}"
    return ""


def _disk_type(document: Document, spins: int | None) -> str:
    match protocol(document):
        case "NVMe":
            return "nvme"
        case "ATA":
            return "hdd" if spins else "sata"
        case "SCSI":
            return "hdd" if spins else "sas"
        case _:
            return ""
