#!/bin/sh
# Boot a throw-away systemd. Runs as the first process of namespaces of its own, and becomes systemd.
#
# usage: boot.sh SHARE REPOSITORY PATH...
# SHARE is a folder of the test that the inside sees as /run/share; the repository is there as
# /opt/byred; each PATH stays where it is, readable for every user.
#
# Nothing of the machine is written to: what systemd writes to lies on memory. Without a /tmp and a
# /var/tmp of its own its start would empty the machine's.
set -eu
share=$1 repository=$2
shift 2

mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/share /run/etc /run/kept
mount --bind "$share" /run/share
cp -a /etc/. /run/etc/
mount --bind /run/etc /etc

# What is needed may lie in folders that other users may not enter, such as root's home.
number=0
for path in "$repository" "$@"; do
    number=$((number + 1))
    mkdir "/run/kept/$number"
    mount --rbind "$path" "/run/kept/$number"
done
mount -t tmpfs -o mode=755 tmpfs /root
mount -t tmpfs -o mode=755 tmpfs /home
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o mode=755 tmpfs /var
mount -t tmpfs -o mode=755 tmpfs /opt
mount -t tmpfs -o mode=755 tmpfs /usr/local
mkdir -p -m 1777 /var/tmp
mkdir -p /var/lib /var/log /var/cache /opt/byred
ln -s /run /var/run
mount -t tmpfs -o mode=1777 tmpfs /var/tmp
number=0
for path in "$repository" "$@"; do
    number=$((number + 1))
    mkdir -p "$path"
    mount --rbind "/run/kept/$number" "$path"
done
mount --rbind /run/kept/1 /opt/byred
umount --recursive --lazy /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir -p /run/systemd/system /etc/systemd/system
# The kernel and its devices are the machine's own.
for unit in systemd-sysctl.service systemd-modules-load.service systemd-binfmt.service \
    systemd-random-seed.service systemd-udevd.service systemd-udev-trigger.service \
    systemd-tmpfiles-setup-dev.service proc-sys-fs-binfmt_misc.automount \
    systemd-hwdb-update.service; do
    ln -sf /dev/null "/etc/systemd/system/$unit"
done

export container=unshare
exec /usr/lib/systemd/systemd --system --unit=basic.target systemd.unified_cgroup_hierarchy=1
