package locktest

import (
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// AsUser is for a client that logs in as the user, whose password is p.
func AsUser(user string) func(*redis.Options) {
	return func(o *redis.Options) { o.Username, o.Password = user, "p" }
}

// SetUser gives a user rules, beyond those that it has.
func SetUser(t testing.TB, s *redistest.Server, user string, rules ...string) {
	t.Helper()
	s.SetUser(t, user, append([]string{"on", ">p"}, rules...)...)
}

// RulesOf are the permissions that errors say are missing.
func RulesOf(t testing.TB, errs ...error) (rules []string) {
	t.Helper()
	for _, err := range errs {
		var p *reentrant.PermissionError
		switch joined, ok := err.(interface{ Unwrap() []error }); {
		case err == nil:
		case ok:
			rules = append(rules, RulesOf(t, joined.Unwrap()...)...)
		case errors.As(err, &p):
			Wants(t, err, reentrant.ErrPermission)
			rules = append(rules, p.Rule)
		default:
			t.Errorf("not about a permission: %v", err)
		}
	}
	return rules
}
