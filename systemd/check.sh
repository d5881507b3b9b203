#!/usr/bin/env bash
# Checks the units: systemd finds nothing wrong with them, and the sandbox of the daemon is at most 2.0.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

limit=20  # tenths
command -v systemd-analyze >/dev/null || { echo "systemd-analyze is not installed (Debian: apt install systemd)" >&2; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# The programs need not be installed where the units are checked.
for unit in *.service *.timer; do
    sed 's#/opt/patrol/bin/patrol#/bin/true#' "$unit" >"$folder/$unit"
done
cd "$folder"
status=0
for unit in *.service *.timer; do
    said=$(systemd-analyze verify "./$unit" 2>&1 | grep -F -e "$unit" -e patrol || true)
    if [[ -n $said ]]; then
        printf '%s\n' "$said"
        status=1
    else
        echo "$unit: verified"
    fi
done
for unit in *.service; do
    systemd-analyze security --offline=true --no-pager "./$unit" | sed -n 's/^→ Overall exposure level for //p'
done
systemd-analyze security --offline=true --threshold="$limit" --no-pager ./patrol.service >/dev/null || {
    echo "patrol.service: more than $((limit / 10)).$((limit % 10))" >&2
    status=1
}
exit "$status"
