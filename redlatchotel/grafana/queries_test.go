package grafana_test

import (
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/teststorage"

	"github.com/redlatch/redlatch/reentrant"
)

// prom is a Prometheus that has scraped a service.
type prom struct {
	t       *testing.T
	engine  *promql.Engine
	storage *teststorage.TestStorage
	last    time.Time
}

func scraped(t *testing.T, step func(s *service, minute int, c, other *reentrant.Client)) *prom {
	t.Helper()
	p := &prom{t: t, storage: teststorage.New(t), engine: promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: promQL,
	})}
	t.Cleanup(func() { _ = p.engine.Close() })
	app := p.storage.Appender(t.Context())
	for _, s := range scrapesOf(t, step) {
		p.append(app, s)
		p.last = s.at
	}
	must(t, app.Commit())
	return p
}

// append stores the samples of a scrape, with the label that Prometheus gives each.
func (p *prom) append(app storage.Appender, s scrape) {
	p.t.Helper()
	parse, err := textparse.New(s.text, s.textFormat, labels.NewSymbolTable(), textparse.ParserOptions{})
	must(p.t, err)
	for {
		entry, err := parse.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		must(p.t, err)
		if entry != textparse.EntrySeries {
			continue
		}
		var series labels.Labels
		parse.Labels(&series)
		_, _, value := parse.Series()
		b := labels.NewBuilder(series)
		b.Set("job", "billing")
		_, err = app.Append(0, b.Labels(), s.at.UnixMilli(), value)
		must(p.t, err)
	}
}

// ask returns the values of a query at the last scrape, by their labels.
func (p *prom) ask(expr string) map[string]float64 {
	p.t.Helper()
	q, err := p.engine.NewInstantQuery(p.t.Context(), p.storage, nil, expr, p.last)
	must(p.t, err)
	defer q.Close()
	result := q.Exec(p.t.Context())
	must(p.t, result.Err)
	vector, err := result.Vector()
	must(p.t, err)
	values := make(map[string]float64)
	for _, sample := range vector {
		values[sample.Metric.String()] = sample.F
	}
	return values
}

// Each query of the dashboard finds something in what the exporter gives, and no query finds what is no number: a
// name that has changed would leave a panel empty.
func TestPanelsHaveData(t *testing.T) {
	p := scraped(t, healthy)
	for _, q := range queries(t) {
		values := p.ask(q.expr)
		if len(values) == 0 {
			t.Errorf("%s: nothing for %s", q.panel, q.expr)
		}
		for series, value := range values {
			if math.IsNaN(value) || math.IsInf(value, 0) {
				t.Errorf("%s: %s is %v", q.panel, series, value)
			}
			if label := strings.Trim(q.legend[strings.LastIndex(q.legend, " ")+1:], "{}"); strings.Contains(q.legend, "{{") && !strings.Contains(series, label) {
				t.Errorf("%s: the legend %s has no value in %s", q.panel, q.legend, series)
			}
		}
		t.Logf("%s, %s: %v", q.panel, q.legend, values)
	}
}

// firing are the alerts whose expression has a result, without the time for which they have to.
func (p *prom) firing(t *testing.T) []string {
	t.Helper()
	found := make(map[string]bool)
	for _, rule := range rules(t) {
		if len(p.ask(rule.Expr)) > 0 {
			found[rule.Alert] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Each alert fires for what it is about, and none for a service in which nothing is wrong.
func TestAlerts(t *testing.T) {
	for _, c := range []struct {
		name string
		step func(s *service, minute int, c, other *reentrant.Client)
		want []string
	}{
		{"healthy", healthy, nil},
		{"losing", losing, []string{"RedlatchLockLost"}},
		{"failing", failing, []string{"RedlatchRenewalsFail"}},
		{"deaf", deaf, []string{"RedlatchLocksFoundByPolls"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := scraped(t, c.step).firing(t); !slices.Equal(got, c.want) {
				t.Errorf("%q fire, want %q", got, c.want)
			}
		})
	}
}

// A service in which nothing is wrong may look more often than it is told. So no alert is about the share of polls among
// wake-ups.
func TestPollsAreNoFault(t *testing.T) {
	share := scraped(t, healthy).ask(`sum(rate(redlatch_wakeups_total{redlatch_wakeup_cause="poll"}[5m])) / sum(rate(redlatch_wakeups_total[5m]))`)
	if len(share) != 1 || share["{}"] < 0.5 {
		t.Errorf("share of polls %v", share)
	}
}
