"""Rated endurance used: vendors count in opposite directions, and unknown is never zero."""

import pytest

from patrol.estate.smartctl import disk_row_from_smartctl

ATA = {"name": "/dev/sda", "type": "sat", "protocol": "ATA"}


def ssd(*table, **more):
    rows = [{"id": number, "name": name, "value": value, "raw": {"value": raw}} for number, name, value, raw in table]
    return {"device": ATA, "smart_status": {"passed": True}, "ata_smart_attributes": {"table": rows}, **more}


@pytest.mark.parametrize(
    ("row", "used"),
    [
        # raw counts what is used
        ((202, "", 95, 5), 5),
        ((202, "Percent_Lifetime_Used", 95, 5), 5),
        ((202, "Perc_Rated_Life_Used", 98, 2), 2),
        ((202, "Percent_Lifetime_Remain", 1, 99), 99),
        ((202, "Percent_Lifetime_Remain", 0, 104), 104),
        ((202, "Percent_Lifetime_Remain", 100, 100), 0),
        ((202, "Percent_Lifetime_Remain", 60, 0), 40),
        ((202, "Percent_Lifetime_Used", None, None), None),
        ((173, "Drive_Life_Used%", 100, 12), 12),
        # raw and normalised count what is left
        ((231, "", 18, 18), 82),
        ((231, "SSD_Life_Left", 98, 98), 2),
        ((231, "SSD_Life_Left", 100, 74), 26),
        ((231, "SSD_Life_Left", 0, 99), 1),
        ((231, "SSD_Life_Left", 100, 1), 0),
        ((231, "SSD_Life_Left", 0, 0), None),
        ((169, "Remaining_Lifetime_Perc", 100, 96), 4),
        ((245, "Percent_Life_Remaining", 100, 100), 0),
        ((177, "DriveLife_Remaining%", 88, 88), 12),
        ((178, "SSD_LifeLeft(0.01%)", 97, 9700), 3),
        # only the normalised value tells, whatever the raw one counts
        ((233, "Media_Wearout_Indicator", 22, 0), 78),
        ((233, "media wearout", 4, 0), 96),
        ((233, "", 4, 0), 96),
        ((233, "Media_Wearout_Indicator", 0, 0), None),
        ((233, "Media_Wearout_Indicator", 200, 0), None),
        ((233, "Flash_Writes_GiB", 100, 979), None),
        # id 230: percent used, or hundredths of it in three packed words
        ((230, "", 99, 1), 1),
        ((230, "", 100, 10), None),
        ((230, "Perc_Write/Erase_Count", 100, 10), 0),
        ((230, "Perc_Write/Erase_Count", 0, 10), None),
        ((230, "Media_Wearout_Indicator", 3, 0x035C_014D_035C), 3.33),
        ((230, "Media_Wearout_Indicator", 1, 0), 0),
        ((230, "Media_Wearout_Indicator", 1, 700), None),
        ((230, "Life_Curve_Status", 100, 100), None),
        # levelling counts, on disks that maintain the normalised value
        ((177, "Wear_Leveling_Count", 91, 1661), 9),
        ((173, "Wear_Leveling_Count", 98, 68), 2),
        ((177, "Wear_Leveling_Count", 100, 401), None),
        # not wear
        ((232, "Available_Reservd_Space", 12, 0), None),
        ((202, "Exception_Mode_Status", 100, 0), None),
        ((202, "Unknown_SSD_Attribute", 100, 0), None),
        ((202, "Data_Address_Mark_Errs", 100, 0), None),
        ((169, "Bad_Block_Rate", 100, 4), None),
        ((226, "Workld_Media_Wear_Indic", 100, 102400), None),
        ((9, "Power_On_Hours", 100, 1200), None),
    ],
)
def test_an_attribute_of_wear_is_read_in_its_own_direction(row, used):
    found = disk_row_from_smartctl(ssd(row))
    assert found.life_used_percent == used
    assert found.wearout == (None if used is None else max(0, 100 - used))


def test_a_levelling_count_at_its_start_says_new_only_from_makers_that_let_it_fall():
    row = (177, "Wear_Leveling_Count", 100, 3)
    assert disk_row_from_smartctl(ssd(row, model_family="Samsung based SSDs")).life_used_percent == 0
    assert disk_row_from_smartctl(ssd(row, model_name="CT500MX500SSD1")).life_used_percent == 0
    assert disk_row_from_smartctl(ssd(row, model_name="TS32GMTS400")).life_used_percent is None


def test_a_percentage_is_believed_before_a_levelling_count():
    table = ((177, "Wear_Leveling_Count", 60, 401), (169, "Remaining_Lifetime_Perc", 100, 96))
    assert disk_row_from_smartctl(ssd(*table)).life_used_percent == 4


def statistics(value, **flags):
    table = [
        {"name": "Lifetime Power-On Resets", "value": 9},
        {"name": "Percentage Used Endurance Indicator", "value": value, "flags": flags},
    ]
    return {"pages": [{"number": 1}, {"number": 7, "table": table}]}


@pytest.mark.parametrize(
    ("more", "used"),
    [
        ({"ata_device_statistics": statistics(3, valid=True)}, 3),
        ({"ata_device_statistics": statistics(3)}, 3),
        ({"ata_device_statistics": statistics(3, valid=False)}, 2),
        ({"ata_device_statistics": statistics("?")}, 2),
        ({"ata_device_statistics": statistics(300)}, 2),
        ({"endurance_used": {"current_percent": 7}}, 7),
    ],
)
def test_the_standard_places_come_before_vendors_attributes(more, used):
    assert disk_row_from_smartctl(ssd((202, "Percent_Lifetime_Used", 98, 2), **more)).life_used_percent == used


@pytest.mark.parametrize("name", ["scsi_percentage_used_endurance_indicator", "percentage_used_endurance_indicator"])
def test_sas_disks_tell_it_in_a_log_page(name):
    document = {"device": {"name": "/dev/sdc", "protocol": "SCSI"}, "smart_status": {"passed": True}, name: 12}
    assert disk_row_from_smartctl(document).life_used_percent == 12


@pytest.mark.parametrize(
    ("used", "expected"), [(0, 0), (100, 100), (130, 130), (255, 255), (256, None), (-1, None), (None, None)]
)
def test_nvme_disks_tell_it_in_their_health_log(used, expected):
    document = {
        "device": {"name": "/dev/nvme0", "protocol": "NVMe"},
        "nvme_smart_health_information_log": {"percentage_used": used},
    }
    assert disk_row_from_smartctl(document).life_used_percent == expected


def test_a_disk_that_spins_has_no_rated_endurance():
    assert (
        disk_row_from_smartctl(ssd((202, "Percent_Lifetime_Used", 1, 99), rotation_rate=7200)).life_used_percent is None
    )
