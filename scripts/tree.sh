# Sourced: prepares a tree of Debian so that programs can run in it. The caller has a mount namespace of its own.

# connected ROOT: gives it the machine's /proc, /sys, /dev, network, certificates, and proxies for apt.
connected() {
    local root=$1 one
    for one in proc sys dev; do mount --rbind "/$one" "$root/$one"; done
    mount -t tmpfs tmpfs "$root/run"
    cp -L /etc/resolv.conf "$root/etc/resolv.conf"
    echo "127.0.0.1 localhost $(hostname)" >"$root/etc/hosts"
    apt-config dump 'Acquire' 2>/dev/null | grep -iE '^Acquire::[a-z]+::(.*::)?Proxy ' \
        >"$root/etc/apt/apt.conf.d/90proxy" || true
    if compgen -G '/usr/local/share/ca-certificates/*.crt' >/dev/null; then
        cp /usr/local/share/ca-certificates/*.crt "$root/usr/local/share/ca-certificates/"
        chroot "$root" update-ca-certificates >/dev/null 2>&1
    fi
}

# rooted ROOT COMMAND ...: runs a command in a tree that is the root of its mount namespace, as on a machine of its own.
# In a chroot there are no user namespaces, and / is no mount.
rooted() {
    unshare --mount --propagation private sh -ec '
        mount --rbind "$1" "$1"
        cd "$1"
        mkdir -p run/before
        pivot_root . run/before
        umount -l /run/before
        shift
        exec "$@"' sh "$@"
}
