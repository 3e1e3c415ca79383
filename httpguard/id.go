package httpguard

// maxID is the length of the longest ID. Names in Redis are made from it, by strangers.
const maxID = 64

// Valid reports whether id may become part of a lock's name: 1 to 64 letters, digits,
// hyphens and underscores of ASCII. Braces would choose the slot in a Cluster, and a colon
// another prefix.
func Valid(id string) bool {
	if id == "" || len(id) > maxID {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}
