//go:build unix

package server

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Commands are calls by command, subcommands as in "config|get". Redis counts those
// that a script makes together with those that clients send.
type Commands map[string]int64

// own are the commands that only the benchmark itself sends.
var own = []string{"info", "config|resetstat", "flushall"}

// ResetCommands has the counters begin at zero.
func (s *Server) ResetCommands(ctx context.Context) error {
	return s.rdb.ConfigResetStat(ctx).Err()
}

// Commands reads the counters.
func (s *Server) Commands(ctx context.Context) (Commands, error) {
	info, err := s.rdb.Info(ctx, "commandstats").Result()
	if err != nil {
		return nil, err
	}
	return parseCommands(info)
}

func parseCommands(info string) (Commands, error) {
	counts := make(Commands)
	for line := range strings.Lines(info) {
		stat, rest, ok := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		if !ok || slices.Contains(own, stat) {
			continue
		}
		digits, _, _ := strings.Cut(rest, ",")
		calls, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("commandstats: %q: %w", line, err)
		}
		counts[stat] = calls
	}
	return counts, nil
}

// Total is the number of all calls.
func (c Commands) Total() (n int64) {
	for _, calls := range c {
		n += calls
	}
	return n
}

// Scripts is the number of scripts run, by whichever command.
func (c Commands) Scripts() int64 {
	return c["evalsha"] + c["eval"] + c["fcall"] + c["evalsha_ro"] + c["eval_ro"] + c["fcall_ro"]
}

// Clear removes all keys, in the foreground so that nothing of it is left to do when
// the next measurement begins. Scripts stay loaded.
func (s *Server) Clear(ctx context.Context) error {
	return s.rdb.Do(ctx, "FLUSHALL", "SYNC").Err()
}

// Version is the server's version.
func (s *Server) Version(ctx context.Context) (string, error) {
	return s.field(ctx, "server", "redis_version")
}

// CPU is the processor time the server has used.
func (s *Server) CPU(ctx context.Context) (time.Duration, error) {
	var sum float64
	for _, name := range []string{"used_cpu_sys", "used_cpu_user"} {
		text, err := s.field(ctx, "cpu", name)
		if err != nil {
			return 0, err
		}
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, err
		}
		sum += seconds
	}
	return time.Duration(sum * float64(time.Second)), nil
}

func (s *Server) field(ctx context.Context, section, name string) (string, error) {
	info, err := s.rdb.Info(ctx, section).Result()
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("INFO %s: no %s", section, name)
}
