package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// keys are those of an hour, as package hourly has them.
func (d *day) keys(n int) (done, attempts string) {
	prefix := "hourly:{" + d.job + "}:" + noon.Add(time.Duration(n)*time.Hour).Format("2006-01-02T15")
	return prefix + ":done", prefix + ":attempts"
}

// summary prints what is in Redis after the day.
func (d *day) summary(ctx context.Context) error {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "hour\tattempts\tdone\tforgotten in")
	for n := range d.played {
		doneKey, attemptsKey := d.keys(n)
		done, err1 := d.rdb.Exists(ctx, doneKey).Result()
		tried, err2 := d.rdb.HLen(ctx, attemptsKey).Result()
		ttl, err3 := d.rdb.TTL(ctx, attemptsKey).Result()
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		mark := map[int64]string{0: "no", 1: "yes"}[done]
		fmt.Fprintf(w, "%s\t%d\t%s\t%v\n", noon.Add(time.Duration(n)*time.Hour).Format("15:04"), tried, mark, ttl.Round(time.Minute))
	}
	w.Flush()
	d.log.Section("What Redis knows of the day\n%s", strings.TrimRight(text.String(), "\n"))
	d.log.End()
	return nil
}

// end ends the nodes and removes what they have left in Redis.
func (d *day) end(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for _, p := range d.nodes {
		errs = append(errs, p.End())
	}
	for n := range d.played {
		done, attempts := d.keys(n)
		errs = append(errs, d.rdb.Del(ctx, done, attempts).Err())
	}
	for _, client := range d.clients {
		errs = append(errs, d.rdb.Forget(ctx, client, "hourly:{"+d.job+"}:lock"))
	}
	return errors.Join(errs...)
}
