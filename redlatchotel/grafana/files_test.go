package grafana_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

var promQL = parser.NewParser(parser.Options{})

// query is one query of a panel, as Prometheus gets it.
type query struct{ panel, legend, expr string }

// queries are those of dashboard.json, with a value for each variable: all of client and group.
func queries(t *testing.T) (all []query) {
	t.Helper()
	variables := strings.NewReplacer("$__rate_interval", "5m", "$client", ".*", "$group", ".*")
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	must(t, json.Unmarshal(read(t, "dashboard.json"), &board))
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			all = append(all, query{panel.Title, target.LegendFormat, variables.Replace(target.Expr)})
		}
	}
	return all
}

// rules are those of alerts.yml.
func rules(t *testing.T) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.Parse(read(t, "alerts.yml"), false, model.LegacyValidation, promQL, slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	if len(groups.Groups) != 1 {
		t.Fatalf("%d groups", len(groups.Groups))
	}
	return groups.Groups[0].Rules
}

// The dashboard has no field that Grafana's schema does not have, nor a value of another kind.
func TestDashboardFollowsTheSchema(t *testing.T) {
	plugins.RegisterDefaultPlugins()
	var board dashboard.Dashboard
	must(t, board.UnmarshalJSONStrict(read(t, "dashboard.json")))
	must(t, board.Validate())
	if len(board.Panels) != 9 {
		t.Errorf("%d panels", len(board.Panels))
	}
}

func TestQueriesParse(t *testing.T) {
	for _, q := range queries(t) {
		if _, err := promQL.ParseExpr(q.expr); err != nil {
			t.Errorf("%s: %s: %v", q.panel, q.expr, err)
		}
		if strings.Contains(q.expr, "$") {
			t.Errorf("%s: a variable without a value: %s", q.panel, q.expr)
		}
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	return text
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
