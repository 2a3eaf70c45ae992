package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	"muster/internal/controller"
)

// SnapshotVersion is the version of the format that writeSnapshot writes: a
// line of JSON with this number, then a line of JSON for each thing, its
// `kind` first. Messages are written as base64 of their wire form beside the
// few fields that a person looks for. No scripts and no environments.
const SnapshotVersion = 1

type snapshotLine struct {
	Kind    string `json:"kind"`
	Version int    `json:"version,omitempty"`
	Now     int64  `json:"now,omitempty"`
	Cluster string `json:"cluster,omitempty"`
	Name    string `json:"name,omitempty"`
	ID      uint32 `json:"id,omitempty"`
	State   string `json:"state,omitempty"`
	Spec    []byte `json:"spec,omitempty"`
	Data    []byte `json:"data,omitempty"`
}

func writeSnapshot(w io.Writer, v *controller.View, now int64) error {
	buf := bufio.NewWriter(w)
	enc := json.NewEncoder(buf)
	line := snapshotLine{Kind: "muster-snapshot", Version: SnapshotVersion, Now: now, Cluster: v.Settings.ClusterName}
	if err := enc.Encode(line); err != nil {
		return err
	}
	put := func(kind, name string, id uint32, state string, spec, data proto.Message) error {
		line := snapshotLine{Kind: kind, Name: name, ID: id, State: state}
		var err error
		if spec != nil {
			if line.Spec, err = proto.Marshal(spec); err != nil {
				return fmt.Errorf("%s %s: %w", kind, name, err)
			}
		}
		if line.Data, err = proto.Marshal(data); err != nil {
			return fmt.Errorf("%s %s: %w", kind, name, err)
		}
		return enc.Encode(line)
	}
	for _, p := range v.Partitions {
		if err := put("partition", p.Name, 0, p.State, nil, p); err != nil {
			return err
		}
	}
	for n := range v.Nodes() {
		if err := put("node", n.Conf.Name, 0, n.State.Base.String(), nil, n.State); err != nil {
			return err
		}
	}
	for _, j := range v.Jobs(0) {
		spec := proto.CloneOf(j.Spec)
		spec.Script, spec.Environment = nil, nil
		if err := put("job", spec.Name, j.State.JobId, j.State.State.String(), spec, j.State); err != nil {
			return err
		}
		for _, st := range v.Steps(j.State.Key) {
			if err := put("step", st.Name, j.State.JobId, st.State.String(), nil, st); err != nil {
				return err
			}
		}
	}
	return buf.Flush()
}
