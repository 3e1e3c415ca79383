package report

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/redlatch/redlatch/benchmarks/internal/bench"
)

// WriteJSON writes all figures of a run, and makes the directory if need be.
func WriteJSON(path string, res *bench.Result) error {
	text, err := json.MarshalIndent(res, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// ReadJSON reads what WriteJSON has written.
func ReadJSON(path string) (*bench.Result, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	res := new(bench.Result)
	return res, json.Unmarshal(text, res)
}
