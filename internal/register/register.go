package register

// Reading is what a client saw of both registers.
type Reading struct {
	Plain, Fenced int
}

// State is a register as it stands.
type State struct {
	Value   int   // what was written last
	Writes  int   // that were accepted
	Refused int   // readings and writes with too low a token; of the fenced register only
	Token   int64 // the highest that was shown
}

// Lost is how many accepted writes left no trace. One is lost when somebody writes who has
// not read it.
func (s State) Lost() int { return s.Writes - s.Value }

// registers are both. The zero value is ready for use.
type registers struct {
	plain, fenced State
}

// admit is the fence: it reports whether a holder with that token may come in.
func (r *registers) admit(token int64) bool {
	r.plain.Token = max(r.plain.Token, token)
	if token < r.fenced.Token {
		r.fenced.Refused++
		return false
	}
	r.fenced.Token = token
	return true
}

// read returns what both registers hold, and whether the fenced one would say so.
func (r *registers) read(token int64) (Reading, bool) {
	ok := r.admit(token)
	return Reading{Plain: r.plain.Value, Fenced: r.fenced.Value}, ok
}

// write raises both by one from what was read, and reports whether the fenced one took it.
func (r *registers) write(token int64, read Reading) bool {
	r.plain.Value = read.Plain + 1
	r.plain.Writes++
	if !r.admit(token) {
		return false
	}
	r.fenced.Value = read.Fenced + 1
	r.fenced.Writes++
	return true
}
