package sbatch

import (
	"context"
	"os"
	"strconv"
	"time"

	"muster/internal/command/option"
	"muster/internal/users"
	"muster/internal/wire"
)

// setIdentity resolves --uid and --gid, which are root's alone.
func setIdentity(request *wire.SubmitRequest, o *option.Options) error {
	if o.UID == "" && o.GID == "" {
		return nil
	}
	if os.Getuid() != 0 {
		what := "--uid"
		if o.UID == "" {
			what = "--gid"
		}
		return refusal(option.Message{Kind: option.Error, Text: what + " only permitted by root user"})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	names := users.NewResolver(users.Options{})
	if o.UID != "" {
		uid, err := names.ParseUser(ctx, o.UID)
		if err != nil {
			return refusal(option.Message{Kind: option.Error, Text: "Invalid --uid specification"})
		}
		request.AsUid, request.AsUidSet = uid, true
		if user, err := names.LookupUID(ctx, uid); err == nil && o.GID == "" {
			request.AsGid, request.AsGidSet = user.GID, true
		}
	}
	if o.GID != "" {
		gid, err := parseGroup(ctx, names, o.GID)
		if err != nil {
			return refusal(option.Message{Kind: option.Error, Text: "Invalid --gid specification"})
		}
		request.AsGid, request.AsGidSet = gid, true
	}
	return nil
}

func refusal(m option.Message) error {
	return &option.Refusal{Messages: []option.Message{m}, Code: 255}
}

// parseGroup reads a name or a number.
func parseGroup(ctx context.Context, names *users.Resolver, word string) (uint32, error) {
	if gid, err := strconv.ParseUint(word, 10, 32); err == nil {
		return uint32(gid), nil
	}
	group, err := names.LookupGroup(ctx, word)
	return group.GID, err
}
