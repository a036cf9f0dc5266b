package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
)

// writeImage packs one static binary as an image archive that `ctr images import` reads.
func writeImage(archive, name, binary string) error {
	program, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	layer, err := tarball(map[string][]byte{"pause": program}, 0o755)
	if err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config":       map[string]any{"Entrypoint": []string{"/pause"}, "User": "65534:65534"},
		"rootfs":       map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
	})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal([]any{map[string]any{"Config": "config.json", "RepoTags": []string{name}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	data, err := tarball(map[string][]byte{"layer.tar": layer, "config.json": config, "manifest.json": manifest}, 0o644)
	if err != nil {
		return err
	}
	return os.WriteFile(archive, data, 0o644)
}

func tarball(files map[string][]byte, mode int64) ([]byte, error) {
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	for name, data := range files {
		if err := writer.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(data))}); err != nil {
			return nil, err
		}
		if _, err := writer.Write(data); err != nil {
			return nil, err
		}
	}
	return buffer.Bytes(), writer.Close()
}
