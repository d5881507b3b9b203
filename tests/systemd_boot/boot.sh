#!/usr/bin/env bash
# Boots a small Debian with systemd as its first process, installs Patrol there by the very lines of docs/operations.md,
# and looks whether the units do what that page promises. Root, `apt install debootstrap systemd-container`, and a way to
# Debian's and Python's packages are needed; 10 minutes the first time. Neither `make test` nor CI does it.
#   usage: boot.sh [FOLDER [ARGUMENT...]]
# FOLDER: the tree of the Debian, which stays there for the next time. The arguments are for systemd-nspawn, like --bind-ro=PATH
# for a folder from which this machine's pip installs.
set -euo pipefail
source_tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
tree=${1:-/var/tmp/patrol-boot}
shift || true
packages=systemd,systemd-sysv,dbus,python3,python3-venv,sudo,ca-certificates,git

[[ $(id -u) == 0 ]] || { echo "run it as root" >&2; exit 2; }
if [[ ! -x $tree/lib/systemd/systemd ]]; then
    debootstrap --variant=minbase --include="$packages" bookworm "$tree"
fi
# What this machine trusts, and where its pip looks for packages, holds in there too.
cp /etc/ssl/certs/ca-certificates.crt "$tree/etc/ssl/certs/ca-certificates.crt"
binds=(--bind-ro="$source_tree:/src" "$@")
for path in /etc/pip.conf /etc/xdg/pip; do
    [[ -e $path ]] && binds+=(--bind-ro="$path")
done

systemd-nspawn --directory="$tree" --register=no --keep-unit --resolv-conf=copy-host "${binds[@]}" --boot --console=pipe \
    </dev/null >"$tree.log" 2>&1 &
container=$!
trap 'kill "$container" 2>/dev/null; wait "$container" || true' EXIT
first=""
for _ in $(seq 100); do
    first=$(pgrep -P "$container" -x systemd) && break
    sleep 0.2
done
[[ -n $first ]] || { echo "systemd did not start: see $tree.log" >&2; exit 1; }

# `!` alone would not end a script that ends with errors.
refused='refused() { if "$@"; then echo "not refused: $*"; return 1; fi; }'
inside() {
    nsenter --target "$first" --mount --uts --ipc --pid --root --wd env -i HOME=/root LANG=C.UTF-8 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        PIP_CERT=/etc/ssl/certs/ca-certificates.crt bash -euo pipefail -c "$refused; $1"
}
failures=0
expect() { # what it is about, what bash says there
    if inside "$2" >"$tree.said" 2>&1; then
        echo "ok: $1"
    else
        echo "NOT: $1"
        sed 's/^/    /' "$tree.said"
        failures=$((failures + 1))
    fi
}

for _ in $(seq 100); do
    inside 'systemctl is-system-running' >/dev/null 2>&1 && break
    sleep 0.3
done
inside 'systemctl stop patrol patrol-collect.timer 2>/dev/null || true
    rm -rf /opt/patrol /etc/patrol /var/lib/patrol /run/patrol /usr/local/bin/patrol /root/patrol
    grep -q "$(hostname)" /etc/hosts || echo "127.0.1.1 $(hostname)" >>/etc/hosts
    mkdir /root/patrol && tar -C /src -c --exclude=.venv --exclude=.git . | tar -C /root/patrol -x'
# Another memory than that of the host, as lxcfs shows it to a container.
inside 'sed "s/^MemTotal:.*/MemTotal:        4194304 kB/" /proc/meminfo >/run/meminfo && mount --bind /run/meminfo /proc/meminfo'
install=$(awk '/^## As a service/ { here = 1 } here && /^```/ { if (block) exit; block = 1; next } block' \
    "$source_tree/docs/operations.md")
[[ $install == *"enable --now"* ]] || { echo "docs/operations.md has no lines to install by" >&2; exit 1; }
expect "the lines of docs/operations.md install and start it" "cd /root/patrol; $install"

expect "installing once more, as an upgrade does, keeps the settings" \
    "echo '# mine' >>/etc/patrol/patrol.toml; cd /root/patrol; $install
    grep -Fx '# mine' /etc/patrol/patrol.toml"

main='pid=$(systemctl show -P MainPID patrol)'
expect "it is active and tells its next run" \
    'systemctl is-active patrol; systemctl show -P StatusText patrol | grep -E "next run|first"'
expect "it has no rights of root" \
    "$main; grep -E '^CapEff:\s0+$' /proc/\$pid/status; grep -E '^NoNewPrivs:\s1' /proc/\$pid/status"
expect "its log is JSON" 'journalctl -u patrol -o cat | grep -F "\"event\": \"started\""'
expect "it sees the memory of the container" "$main; nsenter --target \$pid --mount grep 4194304 /proc/meminfo"
expect "not even root could write to the kernel from there" \
    "$main; refused nsenter --target \$pid --mount sh -c 'echo 60 >/proc/sys/vm/swappiness'
    refused nsenter --target \$pid --mount touch /usr/x; refused nsenter --target \$pid --mount touch /etc/x"
expect "root's readings are of this boot, and belong to root" \
    'systemctl start patrol-collect; grep -F "$(cat /proc/sys/kernel/random/boot_id)" /run/patrol/local.json
    [[ $(stat -c %U:%G:%a /run/patrol/local.json) == root:patrol:640 ]]'
expect "new settings are taken up" \
    'systemctl reload patrol; sleep 2; journalctl -u patrol -o cat | grep -F "\"event\": \"new settings\""'
expect "wrong settings change nothing and are told" \
    'echo "[x" >>/etc/patrol/patrol.toml; systemctl reload patrol; sleep 2; sed -i "\$d" /etc/patrol/patrol.toml
    systemctl is-active patrol; systemctl show -P StatusText patrol | grep -F "new settings were refused"'
expect "what is killed comes back" \
    'systemctl kill -s KILL --kill-who=main patrol; sleep 40; systemctl is-active patrol
    [[ $(systemctl show -P NRestarts patrol) == 1 ]]'
expect "a silent one is ended by the watchdog, and comes back" \
    'short=/run/systemd/system/patrol.service.d; mkdir -p $short
    printf "[Service]\nWatchdogSec=6s\nTimeoutAbortSec=3s\n" >$short/short.conf; systemctl daemon-reload
    systemctl restart patrol; sleep 8; systemctl is-active patrol
    systemctl kill -s STOP --kill-who=main patrol; sleep 40; systemctl is-active patrol
    journalctl -u patrol -o cat | grep "Failed with result .watchdog"; rm -r $short; systemctl daemon-reload'
expect "commands of its user meet its records, and a copy is made beside it" \
    'cd /; rm -f /var/tmp/copy.db; sudo -u patrol patrol runs list; sudo -u patrol patrol db backup /var/tmp/copy.db'
expect "a copy is restored once it is stopped" \
    'cd /; refused sudo -u patrol patrol db restore /var/tmp/copy.db
    systemctl stop patrol; [[ $(systemctl show -P Result patrol) == success ]]
    sudo -u patrol patrol db restore /var/tmp/copy.db; systemctl start patrol; systemctl is-active patrol; rm /var/tmp/copy.db'

((failures == 0)) || exit 1
