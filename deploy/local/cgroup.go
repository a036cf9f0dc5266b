package main

import (
	"errors"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// Each cluster's pods live under a control group of their own. Two kubelets that shared one would
// end each other's pods; and it is where the processes of pods are found when a cluster was killed.

const controlGroups = "/sys/fs/cgroup"

// hierarchies are the roots of all control group trees: one for version 2, one a controller for version 1.
func hierarchies() []string {
	if _, err := os.Stat(filepath.Join(controlGroups, "cgroup.controllers")); err == nil {
		return []string{controlGroups}
	}
	roots, _ := filepath.Glob(filepath.Join(controlGroups, "*"))
	var found []string
	for _, root := range roots {
		if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); err == nil {
			found = append(found, root)
		}
	}
	return found
}

func (c *cluster) makeControlGroup() error {
	for _, root := range hierarchies() {
		folder := filepath.Join(root, c.namespace())
		if err := os.Mkdir(folder, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return outside("use --no-node where control groups cannot be made", "%v", err)
		}
		// A new group of the cpuset controller may use nothing until it is told what.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if data, err := os.ReadFile(filepath.Join(root, file)); err == nil {
				_ = os.WriteFile(filepath.Join(folder, file), data, 0o644)
			}
		}
		// Version 2 hands controllers down one level at a time.
		if controllers, err := os.ReadFile(filepath.Join(root, "cgroup.controllers")); err == nil {
			enable := "+" + strings.Join(strings.Fields(string(controllers)), " +")
			_ = os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte(enable), 0o644)
			_ = os.WriteFile(filepath.Join(folder, "cgroup.subtree_control"), []byte(enable), 0o644)
		}
	}
	return nil
}

// podProcesses are the processes of this cluster's pods.
func (c *cluster) podProcesses() []int {
	seen := map[int]bool{}
	for _, root := range hierarchies() {
		_ = filepath.WalkDir(filepath.Join(root, c.namespace()), func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || entry.Name() != "cgroup.procs" {
				return nil
			}
			data, _ := os.ReadFile(path)
			for _, line := range strings.Fields(string(data)) {
				if pid, err := strconv.Atoi(line); err == nil {
					seen[pid] = true
				}
			}
			return nil
		})
	}
	var pids []int
	for pid := range seen {
		pids = append(pids, pid)
	}
	sort.Ints(pids)
	return pids
}

// removeControlGroup removes the emptied groups, the innermost first.
func (c *cluster) removeControlGroup() {
	for _, root := range hierarchies() {
		var folders []string
		_ = filepath.WalkDir(filepath.Join(root, c.namespace()), func(path string, entry os.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				folders = append(folders, path)
			}
			return nil
		})
		for i := len(folders) - 1; i >= 0; i-- {
			_ = os.Remove(folders[i])
		}
	}
}
