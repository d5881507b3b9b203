"""Limits: what can be limited, and the resolver that answers for each resource (docs/alert-settings.md)."""

from signals.thresholds.limit import Limit, Limited, Thresholds, special_test
from signals.thresholds.resolver import AlertThresholds

__all__ = ["AlertThresholds", "Limit", "Limited", "Thresholds", "special_test"]
