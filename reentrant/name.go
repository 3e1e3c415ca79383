package reentrant

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/redlatch/redlatch/lua"
)

const maxName = 512 // bytes; Redis itself would take 512 MB

// checkName refuses a name that could not be read back from logs, or whose keys could be in different
// cluster slots. Prefix and name together may have at most one pair of braces, and then it is a hash tag.
func checkName(prefix, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: it is empty", ErrInvalidName)
	case len(prefix)+len(name) > maxName:
		return fmt.Errorf("%w: %d bytes with the prefix, at most %d", ErrInvalidName, len(prefix)+len(name), maxName)
	}
	if lua.Reserved(prefix + name) {
		return fmt.Errorf("%w: %q begins as the keys do that belong to other locks", ErrInvalidName, prefix+name)
	}
	return checkText(ErrInvalidName, prefix+name)
}

// checkText refuses a text that is not valid UTF-8, has a control character, or has braces that are not
// one whole hash tag.
func checkText(kind error, s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("%w: %q is not valid UTF-8", kind, s)
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Errorf("%w: %q has a control character", kind, s)
	}
	opened, closed := strings.Count(s, "{"), strings.Count(s, "}")
	if opened == 0 && closed == 0 {
		return nil
	}
	if opened != 1 || closed != 1 || strings.Index(s, "}")-strings.Index(s, "{") < 2 {
		return fmt.Errorf("%w: %q: braces may only form one hash tag, as in a{b}c", kind, s)
	}
	return nil
}
