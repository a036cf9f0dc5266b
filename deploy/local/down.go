package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"
)

// down removes the cluster, whatever state it is in.
func (c *cluster) down() error {
	if c.kubeconfig != "" {
		say("cluster", "the cluster of %s is yours: nothing to take down", c.kubeconfig)
		return nil
	}
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.remove(); err != nil {
		return err
	}
	say("cluster", "`%s` is down", c.name)
	return nil
}

// remove ends every process of the cluster and deletes everything it left. It trusts no pid file
// and no record: what is there is found by the marker, the control group, the mount table and
// the name of the namespace.
func (c *cluster) remove() error {
	if _, err := os.Stat(c.state); err == nil {
		say("cluster", "removing what is there of `%s`", c.name)
	}
	if err := c.release(); err != nil {
		return err
	}
	// Nothing may be mounted there any more: what is behind a mount belongs to somebody else.
	return await(10*time.Second, func() error {
		mounts, err := c.mounts()
		if err != nil {
			return err
		}
		if len(mounts) > 0 {
			return outside("unmount it, then try again", "not deleting %s: %s is still mounted", c.state, strings.Join(mounts, ", "))
		}
		return os.RemoveAll(c.state)
	})
}

// release gives back everything but the files: processes, mounts, the network, control groups.
func (c *cluster) release() error {
	if err := c.endProcesses(); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return nil
	}
	c.removeTraces()
	if err := c.unmount(); err != nil {
		return err
	}
	if err := c.removeNetwork(); err != nil {
		return err
	}
	c.removeControlGroup()
	c.removeLogLinks()
	return nil
}

// endProcesses stops first those that would start others again: kubelet, controllers, then
// containerd's shims and the pods, which outlive containerd.
func (c *cluster) endProcesses() error {
	if os.Geteuid() == 0 {
		if pid := c.pid("kubelet"); pid != 0 {
			if err := stop([]int{pid}, 5*time.Second); err != nil {
				return err
			}
		}
		// Found in our control group only, and so they are our pods' processes.
		for range 3 {
			pods := c.podProcesses()
			if len(pods) == 0 {
				break
			}
			for _, pid := range pods {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			_ = await(2*time.Second, func() error {
				if left := c.podProcesses(); len(left) > 0 {
					return fmt.Errorf("%d processes of pods are left", len(left))
				}
				return nil
			})
		}
	}
	// Their data goes too, and so there is nothing worth waiting long for.
	return stop(c.leftovers(), 2*time.Second)
}

// unmount removes every mount below the cluster's folder, the innermost first.
func (c *cluster) unmount() error {
	for range 5 {
		mounts, err := c.mounts()
		if err != nil || len(mounts) == 0 {
			return err
		}
		for _, mount := range mounts {
			// Detached: a process that still looks at it does not keep the cluster from going.
			_ = syscall.Unmount(mount, syscall.MNT_DETACH)
		}
	}
	mounts, err := c.mounts()
	if err == nil && len(mounts) > 0 {
		err = outside("", "cannot unmount %s", strings.Join(mounts, ", "))
	}
	return err
}

// kernelEscapes undoes what the kernel does to blanks, tabs, line ends and backslashes in a path.
var kernelEscapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

func (c *cluster) mounts() ([]string, error) {
	data, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, err
	}
	var mounts []string
	for _, line := range strings.Split(string(data), "\n") {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		path := kernelEscapes.Replace(fields[1])
		if strings.HasPrefix(path, c.state+"/") {
			mounts = append(mounts, path)
		}
	}
	sort.Sort(sort.Reverse(sort.StringSlice(mounts)))
	return mounts, nil
}

// removeLogLinks removes the links that the kubelet makes outside its own folders.
func (c *cluster) removeLogLinks() {
	links, _ := filepath.Glob("/var/log/containers/*.log")
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, c.state+"/") {
			_ = os.Remove(link)
		}
	}
}

// removeTraces removes what containerd and the network plugins keep outside of our folder: the
// sockets of shims, what runc knows of containers, and the results of the network plugins.
func (c *cluster) removeTraces() {
	tasks, _ := filepath.Glob(c.path("containerd", "state", "io.containerd.runtime.v2.task", "k8s.io", "*"))
	for _, task := range tasks {
		if address, err := os.ReadFile(filepath.Join(task, "address")); err == nil {
			socket := strings.TrimPrefix(strings.TrimSpace(string(address)), "unix://")
			if strings.HasPrefix(socket, "/run/containerd/s/") {
				_ = os.Remove(socket)
			}
		}
		_ = os.RemoveAll(filepath.Join("/run/containerd/runc/k8s.io", filepath.Base(task)))
	}
	results, _ := filepath.Glob("/var/lib/cni/results/pods-*")
	for _, result := range results {
		var cached struct {
			Config []byte `json:"config"`
		}
		data, err := os.ReadFile(result)
		if err == nil && json.Unmarshal(data, &cached) == nil && bytes.Contains(cached.Config, []byte(c.state+"/")) {
			_ = os.Remove(result)
		}
	}
}
