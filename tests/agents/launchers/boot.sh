#!/bin/sh
# Boots a throw-away systemd; to be run as the first process of fresh mount, pid, cgroup, uts and ipc
# namespaces. $1 is a file below the machine's own /tmp: once the mounts are made it must be out of
# sight, or else systemd would empty that /tmp. The folders after it stay where they are, also when
# they lie there.
set -e
marker=$1
shift
mount --make-rprivate /
mount -t tmpfs tmpfs /run
number=0
for kept in "$@"; do
    number=$((number + 1))
    mkdir -p "/run/kept/$number"
    mount --rbind "$kept" "/run/kept/$number"
done
for place in /tmp /var/tmp; do
    mount -t tmpfs tmpfs "$place"
done
number=0
for kept in "$@"; do
    number=$((number + 1))
    test -d "$kept" || { mkdir -p "$kept" && mount --rbind "/run/kept/$number" "$kept"; }
done
test ! -e "$marker"
mount -t cgroup2 cgroup2 /sys/fs/cgroup
# Nothing of the machine's own start-up is wanted but the bus: no sysctl, no modules, no tmpfiles.
mkdir -p /run/systemd/system
for folder in /usr/lib/systemd/system /etc/systemd/system; do
    for target in sysinit basic local-fs sockets timers paths; do
        for unit in "$folder/$target.target.wants"/*; do
            name=$(basename "$unit")
            test "$name" = dbus.socket || ln -sf /dev/null "/run/systemd/system/$name"
        done
    done
done
ln -sf /dev/null /run/systemd/system/systemd-remount-fs.service
export container=unshare
exec /usr/lib/systemd/systemd --system --unit=basic.target systemd.unified_cgroup_hierarchy=1
