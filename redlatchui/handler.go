package redlatchui

import (
	"embed"
	"encoding/json"
	"errors"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// Options are how the page is served. The zero value is a page at the root that can look only.
type Options struct {
	// PathPrefix is where the handler is mounted, "/locks" for example. The handler gets whole paths: mount it with
	// mux.Handle("/locks/", handler), without http.StripPrefix.
	PathPrefix string

	// Write lets the page free locks. Without it every request that would is refused.
	Write bool

	// Authorize decides about each request before anything is shown or done: with an error the answer is 403, and its text
	// goes to the log and not to the browser. It may be nil if others see to that: everybody who reaches the page sees the names of
	// locks, hosts and owners.
	Authorize func(*http.Request) error

	// Logger gets a record for each lock that is freed, and for requests that are refused; slog.Default if it is nil.
	Logger *slog.Logger
}

//go:embed assets
var assets embed.FS

var page = template.Must(template.ParseFS(assets, "assets/index.html"))

// Handler is the page. Make one with [NewHandler].
type Handler struct {
	board   *board
	options Options
	mux     *http.ServeMux
	origin  *http.CrossOriginProtection
	logger  *slog.Logger
}

// NewHandler makes a handler that shows the locks under the Client's prefix. The Redis user needs, besides what locks need,
// what [reentrant.Client.Contended] and [reentrant.Client.Locks] need. Close the pages' server before the Client.
func NewHandler(client *reentrant.Client, options Options) *Handler {
	options.PathPrefix = "/" + strings.Trim(options.PathPrefix, "/")
	if options.PathPrefix != "/" {
		options.PathPrefix += "/"
	}
	h := &Handler{
		board: newBoard(client), options: options, mux: http.NewServeMux(),
		origin: http.NewCrossOriginProtection(), logger: options.Logger,
	}
	if h.logger == nil {
		h.logger = slog.Default()
	}
	static, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the directory is part of the program
	}
	root := options.PathPrefix
	h.mux.HandleFunc("GET "+root+"{$}", h.index)
	h.mux.Handle("GET "+root+"assets/", http.StripPrefix(root+"assets/", http.FileServerFS(static)))
	h.mux.HandleFunc("GET "+root+"events", h.events)
	h.mux.HandleFunc("GET "+root+"lock", h.lock)
	h.mux.HandleFunc("POST "+root+"search", h.search)
	h.mux.HandleFunc("POST "+root+"force", h.force)
	return h
}

// ServeHTTP implements [http.Handler]. Nothing on the page comes from another origin, and no other page may frame it or post
// to it.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store")
	if authorize := h.options.Authorize; authorize != nil {
		if err := authorize(r); err != nil {
			h.refuse(w, r, http.StatusForbidden, "not authorized", err)
			return
		}
	}
	if err := h.origin.Check(r); err != nil {
		h.refuse(w, r, http.StatusForbidden, "a request from another site", err)
		return
	}
	h.mux.ServeHTTP(w, r)
}

func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, code int, what string, err error) {
	h.logger.LogAttrs(r.Context(), slog.LevelWarn, "redlatchui: refused", slog.String("path", r.URL.Path), slog.String("remote", r.RemoteAddr), slog.Any("error", err))
	http.Error(w, what, code)
}

func (h *Handler) index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = page.Execute(w, struct { // an error is the browser's, which has gone
		Root  string
		Write bool
	}{h.options.PathPrefix, h.options.Write})
}

// lock tells of one lock: its row, and the last changes that an open page has seen.
func (h *Handler) lock(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	row, err := h.board.look(r.Context(), name)
	if err != nil {
		h.fail(w, err)
		return
	}
	h.answer(w, struct {
		Row     any      `json:"row"`
		Changes []change `json:"changes"`
	}{row, h.board.changesOf(name)})
}

// search adds the locks whose names match a pattern to what all pages show, for as long as one is open.
func (h *Handler) search(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Pattern string }
	if !h.read(w, r, &asked) {
		return
	}
	found, more, err := h.board.search(r.Context(), asked.Pattern)
	if err != nil {
		h.fail(w, err)
		return
	}
	h.answer(w, map[string]any{"found": found, "more": more})
}

// force frees a lock, if its name was typed and the holder is the one that was shown.
func (h *Handler) force(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Name, Typed, Field string }
	switch {
	case !h.options.Write:
		h.refuse(w, r, http.StatusForbidden, "this page can look only", errors.New("the page is read-only"))
		return
	case !h.read(w, r, &asked):
		return
	case asked.Name == "" || asked.Typed != asked.Name || asked.Field == "":
		http.Error(w, "type the name of the lock", http.StatusBadRequest)
		return
	}
	freed, err := h.board.force(r.Context(), asked.Name, asked.Field)
	h.logger.LogAttrs(r.Context(), slog.LevelWarn, "redlatchui: forced", slog.String("lock", asked.Name), slog.String("holder", asked.Field),
		slog.Bool("freed", freed), slog.String("remote", r.RemoteAddr), slog.Any("error", err))
	if err != nil {
		h.fail(w, err)
		return
	}
	h.answer(w, map[string]any{"freed": freed})
}

// read reads a small JSON value.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, into any) bool {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 16<<10)).Decode(into); err != nil {
		http.Error(w, "no request of the page", http.StatusBadRequest)
		return false
	}
	return true
}

func (h *Handler) answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // an error is the browser's, which has gone
}

// fail says what Redis, or the library, has refused.
func (h *Handler) fail(w http.ResponseWriter, err error) {
	code := http.StatusBadGateway
	if errors.Is(err, reentrant.ErrInvalidName) || errors.Is(err, reentrant.ErrForeignKey) {
		code = http.StatusBadRequest
	}
	http.Error(w, strings.TrimPrefix(err.Error(), "redlatch: "), code)
}

// asking is the limit for what one request asks of Redis.
const asking = 5 * time.Second
