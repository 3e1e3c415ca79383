package cli

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch/redlatchui"
	"github.com/redlatch/redlatch/reentrant"
)

// uiPasswordEnv has the password that the page asks for. A flag would show it to all who can list processes.
const uiPasswordEnv = "REDLATCH_UI_PASSWORD"

func (a *app) uiCommand() *cobra.Command {
	var listen string
	var write bool
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Serve a page that shows the locks, until interrupted",
		Long: `ui serves a page that shows who holds which lock and who waits, as it changes. It looks only; with --write it can free
a lock, of which the name has to be typed.

Everybody who reaches the page sees the names of locks, hosts and owners. It listens on this machine alone unless --listen
says otherwise. With ` + uiPasswordEnv + ` in the environment it asks for that password; for --write beyond this machine it needs one.`,
		Example: "  redlatch ui\n  REDLATCH_UI_PASSWORD=secret redlatch ui --listen :8080 --write",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := a.one(reentrant.WithClientName("redlatch-ui"))
			if err != nil {
				return err
			}
			defer r.close()
			return a.ui(cmd.Context(), r, listen, write)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8080", "`address` to listen on")
	cmd.Flags().BoolVar(&write, "write", false, "let the page free locks")
	return cmd
}

func (a *app) ui(ctx context.Context, r *redlatch, listen string, write bool) error {
	password := os.Getenv(uiPasswordEnv)
	if write && password == "" && !here(listen) {
		return usage("--write on %s, which others reach: set %s", listen, uiPasswordEnv)
	}
	asking, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	if err := r.rdb.Ping(asking).Err(); err != nil {
		return err
	}
	on, err := net.Listen("tcp", listen)
	if err != nil {
		return usage("--listen: %w", err)
	}
	defer on.Close()
	ctx, stop := interrupted(ctx)
	defer stop()
	server := &http.Server{
		Handler: redlatchui.NewHandler(r.Client, redlatchui.Options{
			Write: write, Logger: slog.New(slog.NewTextHandler(a.errs, nil)),
		}),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx }, // its end ends the pages
	}
	if password != "" {
		server.Handler = asks(password, server.Handler)
	}
	fmt.Fprintf(a.out, "http://%s/\n", on.Addr())
	served := make(chan error, 1)
	go func() { served <- server.Serve(on) }() // ends with the server
	select {
	case err = <-served:
		return err
	case <-ctx.Done():
	}
	over, cancel := limited(2 * time.Second)
	defer cancel()
	err = server.Shutdown(over)
	if serving := <-served; !errors.Is(serving, http.ErrServerClosed) {
		err = errors.Join(err, serving)
	}
	return err
}

// here reports whether an address is reached from this machine alone.
func here(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	return err != nil || host == "localhost" || net.ParseIP(host).IsLoopback()
}

// asks lets in who knows the password, whatever the user's name. The digests have one length, so that the comparison takes
// the same time for each password.
func asks(password string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(password))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, given, _ := r.BasicAuth()
		if got := sha256.Sum256([]byte(given)); subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Basic realm="redlatch"`)
			http.Error(w, "the password is missing or wrong", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
