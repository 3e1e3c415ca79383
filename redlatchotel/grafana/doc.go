// Package grafana has a dashboard and alert rules for the metrics of redlatchotel, as Prometheus sees them. It has no
// Go code but tests, in a module of their own: they need Prometheus and Grafana's schema, which no user of redlatchotel
// needs.
package grafana
