package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// need is something of the operating system that a real node cannot do without.
type need struct {
	file    string // a command, or an absolute path
	debian  string // the Debian package that has it
	because string
}

var needs = []need{
	{"ip", "iproute2", "makes the cluster's network namespace"},
	{"nsenter", "util-linux", "starts processes in it"},
	{"umount", "mount", "removes what pods have mounted"},
	{"iptables", "iptables", "is how kube-proxy leads Services to pods"},
	{"containerd", "containerd", "runs the pods"},
	{"ctr", "containerd", "loads the pause image"},
	{"runc", "runc", "starts the containers"},
	{"/usr/lib/cni/bridge", "containernetworking-plugins", "connects the pods"},
}

func missing() (packages []string) {
	seen := map[string]bool{}
	for _, n := range needs {
		_, err := exec.LookPath(n.file)
		if err != nil && !seen[n.debian] {
			seen[n.debian] = true
			packages = append(packages, n.debian)
		}
	}
	return packages
}

// ensurePackages installs what a real node needs. Only called as root.
func (c *cluster) ensurePackages() error {
	if len(missing()) == 0 {
		return nil
	}
	// Two clusters that come up at once need the same, and apt-get gives up where another one is at work.
	unlock, err := lockFile(filepath.Join(c.cache, "packages.lock"), "another call installs packages")
	if err != nil {
		return err
	}
	defer unlock()
	packages := missing()
	if len(packages) == 0 {
		return nil
	}
	list := strings.Join(packages, " ")
	hint := "install " + list + " with the package manager of this system, or use --no-node"
	if _, err := exec.LookPath("apt-get"); err != nil {
		return outside(hint, "a real node needs %s", list)
	}
	say("packages", "installing %s", list)
	for _, arguments := range [][]string{
		{"apt-get", "update", "-qq"},
		append([]string{"apt-get", "install", "-y", "-qq", "--no-install-recommends"}, packages...),
	} {
		command := exec.Command(arguments[0], arguments[1:]...)
		command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if data, err := command.CombinedOutput(); err != nil {
			return outside(hint, "`%s` failed: %v\n%s", strings.Join(arguments, " "), err, data)
		}
	}
	if still := missing(); len(still) > 0 {
		return outside(hint, "still missing after the installation: %s", strings.Join(still, " "))
	}
	return nil
}
