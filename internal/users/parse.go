package users

import (
	"fmt"
	"strconv"
	"strings"
)

// validKey tells whether a name can be handed to getent. A name made of digits
// alone would be taken for an id there, and a colon or a line break cannot
// stand in a name.
func validKey(name string) bool {
	if name == "" || len(name) > 256 || strings.ContainsAny(name, ":,\n\x00") {
		return false
	}
	return strings.Trim(name, "0123456789") != ""
}

func parseID(s string) (uint32, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("bad id %q in the answer of getent", s)
	}
	return uint32(n), nil
}

// parseUser reads one line of `getent passwd`.
func parseUser(line string) (User, error) {
	f := strings.Split(line, ":")
	if len(f) < 7 || f[0] == "" {
		return User{}, fmt.Errorf("bad line %q in the answer of getent passwd", line)
	}
	uid, err := parseID(f[2])
	if err != nil {
		return User{}, err
	}
	gid, err := parseID(f[3])
	if err != nil {
		return User{}, err
	}
	return User{Name: f[0], UID: uid, GID: gid, Gecos: f[4], Home: f[5], Shell: f[6]}, nil
}

// parseGroup reads one line of `getent group`.
func parseGroup(line string) (Group, error) {
	f := strings.Split(line, ":")
	if len(f) < 3 || f[0] == "" {
		return Group{}, fmt.Errorf("bad line %q in the answer of getent group", line)
	}
	gid, err := parseID(f[2])
	if err != nil {
		return Group{}, err
	}
	g := Group{Name: f[0], GID: gid}
	if len(f) > 3 && f[3] != "" {
		g.Members = strings.Split(f[3], ",")
	}
	return g, nil
}

// parseInitgroups reads the line of `getent initgroups NAME`: the name, then
// the supplementary groups. The name may hold spaces, so it is cut off first.
func parseInitgroups(line, name string) ([]uint32, error) {
	rest, ok := strings.CutPrefix(line, name)
	if !ok {
		return nil, fmt.Errorf("bad line %q in the answer of getent initgroups", line)
	}
	var gids []uint32
	for _, word := range strings.Fields(rest) {
		gid, err := parseID(word)
		if err != nil {
			return nil, err
		}
		gids = append(gids, gid)
	}
	return gids, nil
}

// lines splits the output of getent without its last line break.
func lines(out []byte) []string {
	text := strings.TrimRight(string(out), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
