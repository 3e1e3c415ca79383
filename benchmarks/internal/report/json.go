package report

import (
	"encoding/json"
	"os"

	"github.com/redlatch/redlatch/benchmarks/internal/bench"
)

// WriteJSON writes all figures of a run.
func WriteJSON(path string, res *bench.Result) error {
	text, err := json.MarshalIndent(res, "", "\t")
	if err != nil {
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
