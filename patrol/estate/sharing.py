"""Equal texts of an estate kept once: each row of a document brings its own copy of what all of them say."""

from patrol.estate.model import Estate


def share_texts(estate: Estate) -> None:
    """Lets the words that many rows repeat (sources, clusters, datastores, names of guests) be one object each.

    Changes no value. A fifth of what a large estate takes, for a tenth of a second at 100,000 resources.
    """
    known: dict[str, str] = {}
    one = known.setdefault
    for resource in estate.resources:
        resource.name = one(resource.name, resource.name)
        resource.source = one(resource.source, resource.source)
        resource.instance = one(resource.instance, resource.instance)
        resource.os = one(resource.os, resource.os)
        if resource.addresses:
            resource.addresses = [one(address, address) for address in resource.addresses]
        for probe in resource.probes or ():
            probe.kind = one(probe.kind, probe.kind)
            probe.address = one(probe.address, probe.address)
        disk = resource.disk
        if disk is not None:
            disk.model = disk.model and one(disk.model, disk.model)
            disk.device = disk.device and one(disk.device, disk.device)
            disk.dev_path = disk.dev_path and one(disk.dev_path, disk.dev_path)
            disk.type = disk.type and one(disk.type, disk.type)
            disk.health = disk.health and one(disk.health, disk.health)
            disk.used = disk.used and one(disk.used, disk.used)
    for backup in estate.pbs_backups:
        if isinstance(backup.vmid, str):
            backup.vmid = one(backup.vmid, backup.vmid)
        backup.backup_type = backup.backup_type and one(backup.backup_type, backup.backup_type)
        backup.instance = backup.instance and one(backup.instance, backup.instance)
        backup.datastore = backup.datastore and one(backup.datastore, backup.datastore)
        backup.namespace = backup.namespace and one(backup.namespace, backup.namespace)
        backup.comment = backup.comment and one(backup.comment, backup.comment)
    for task in estate.backup_tasks:
        task.vm_name = task.vm_name and one(task.vm_name, task.vm_name)
        task.node = task.node and one(task.node, task.node)
        task.instance = task.instance and one(task.instance, task.instance)
        task.type = task.type and one(task.type, task.type)
        task.status = task.status and one(task.status, task.status)
