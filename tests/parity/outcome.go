package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

type solved struct {
	Outcome   string    `json:"outcome"`
	Install   []install `json:"install"`
	Generated []string  `json:"generated"`
}

type install struct {
	Bundle           string `json:"bundle"`
	Package          string `json:"package"`
	Version          string `json:"version"`
	Catalog          string `json:"catalog"`
	CatalogNamespace string `json:"catalogNamespace"`
	Channel          string `json:"channel"`
	Replaces         string `json:"replaces"`
}

// failed is both "unsolvable" and "error".
type failed struct {
	Outcome string `json:"outcome"`
	Message string `json:"message"`
}

type varies struct {
	Outcome  string            `json:"outcome"`
	Outcomes []json.RawMessage `json:"outcomes"`
}

func failure(err error) []byte { return encode(failed{"error", err.Error()}) }

// oneOrAll is the outcome itself where there is only one.
func oneOrAll(distinct map[string]struct{}) []byte {
	all := slices.Sorted(maps.Keys(distinct))
	if len(all) == 1 {
		return []byte(all[0])
	}
	different := varies{Outcome: "varies"}
	for _, one := range all {
		different.Outcomes = append(different.Outcomes, json.RawMessage(one))
	}
	return encode(different)
}

// encode is JSON in one line. Version ranges stay readable: "<" is not escaped.
func encode(outcome any) []byte {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(outcome); err != nil {
		panic(err) // Only texts and lists of them are encoded here, which cannot fail.
	}
	return bytes.TrimRight(line.Bytes(), "\n")
}
