package option

import (
	"strconv"
	"strings"

	"muster/internal/size"
	"muster/internal/wire"
)

// Generic resources are asked for in four ways; the texts are kept as TRES
// (`gres/gpu:tesla:2`), which is how scontrol shows them and the SLURM_GPUS…
// variables are made of them.

// gres reads the list of --gres: `gpu`, `gpu:2`, `gpu:tesla`, `gpu:tesla:2`.
func gres(o *Options, e *Entry, value string) error {
	if strings.EqualFold(value, "none") {
		o.Step.GresNone = true
		o.setGres(e.Long, "", nil)
		return nil
	}
	if value == "" {
		return errorf(codeError, "Batch job submission failed: Invalid Trackable RESource (TRES) specification")
	}
	var list []*wire.GresRequest
	var texts []string
	for word := range strings.SplitSeq(value, ",") {
		word = strings.TrimPrefix(strings.TrimPrefix(word, "gres:"), "gres/")
		name, rest, _ := strings.Cut(word, ":")
		if name == "" || strings.Contains(word, "=") {
			return badGres()
		}
		request, ok := gresRequest(name, rest)
		if !ok {
			return badGres()
		}
		list = append(list, request)
		texts = append(texts, "gres/"+word)
	}
	o.Step.GresNone = false
	o.setGres(e.Long, strings.Join(texts, ","), list)
	return nil
}

// gpus reads the lists of --gpus, --gpus-per-node and so on: `2`, `tesla:2`.
func gpus(o *Options, e *Entry, value string) error {
	var list []*wire.GresRequest
	var texts []string
	for word := range strings.SplitSeq(value, ",") {
		if word == "" {
			continue
		}
		request, ok := gresRequest("gpu", word)
		if !ok {
			return badGres()
		}
		list = append(list, request)
		texts = append(texts, "gres/gpu:"+word)
	}
	o.setGres(e.Long, strings.Join(texts, ","), list)
	return nil
}

// gresRequest reads what stands behind a name: nothing, a count, a type, both.
func gresRequest(name, rest string) (*wire.GresRequest, bool) {
	request := &wire.GresRequest{Name: name, Count: 1}
	kind, countText, both := strings.Cut(rest, ":")
	switch {
	case rest == "":
		return request, true
	case both:
		request.Type = kind
		n, err := size.ParseCount(countText)
		request.Count = n
		return request, err == nil && kind != ""
	}
	if n, err := size.ParseCount(rest); err == nil {
		request.Count = n
	} else {
		request.Type = rest
	}
	return request, true
}

func badGres() error {
	return errorf(codeError, "Invalid generic resource (gres) specification")
}

// setGres keeps one option's list; finish puts them together.
func (o *Options) setGres(long, text string, list []*wire.GresRequest) {
	s := o.Spec
	o.gres[long] = text
	switch long {
	case "gres":
		o.Step.gres = list
	case "gpus-per-node":
		o.Step.gpusPerNode = list
	case "gpus":
		s.GresPerJob, s.TresPerJob = list, text
	case "gpus-per-task":
		o.Step.gpusPerTask = list
	case "gpus-per-socket":
		s.GresPerSocket, s.TresPerSocket = list, text
	case "tres-per-task":
		o.Step.tresPerTask = list
	}
}

// finishGres joins --gres with --gpus-per-node and checks them all.
func (o *Options) finishGres() error {
	s := o.Spec
	s.GresPerNode = append(append([]*wire.GresRequest(nil), o.Step.gres...), o.Step.gpusPerNode...)
	s.TresPerNode = joinTexts(o.gres["gpus-per-node"], o.gres["gres"])
	s.GresPerTask = append(append([]*wire.GresRequest(nil), o.Step.tresPerTask...), o.Step.gpusPerTask...)
	s.TresPerTask = joinTexts(o.gres["tres-per-task"], o.gres["gpus-per-task"])
	typed := make(map[string][2]bool)
	for _, list := range [][]*wire.GresRequest{s.GresPerJob, s.GresPerNode, s.GresPerTask, s.GresPerSocket} {
		for _, r := range list {
			seen := typed[r.Name]
			if r.Type != "" {
				seen[0] = true
			} else {
				seen[1] = true
			}
			if seen[0] && seen[1] {
				return errorf(codeError, "Invalid GRES specification (with and without type identification)")
			}
			typed[r.Name] = seen
		}
	}
	return o.checkGpuOptions(len(typed) > 0)
}

func joinTexts(a, b string) string {
	if a != "" && b != "" {
		return a + "," + b
	}
	return a + b
}

// checkGpuOptions refuses what only makes sense beside something else.
func (o *Options) checkGpuOptions(any bool) error {
	s := o.Spec
	lines := func(texts ...string) error {
		r := &Refusal{Code: codeError}
		for _, text := range append(texts, "Invalid generic resource (gres) specification") {
			r.Messages = append(r.Messages, Message{Error, text})
		}
		return r
	}
	switch {
	case o.Program == Srun: // a step takes what the job has
		return nil
	case len(s.GresPerTask) > 0 && o.gres["gpus-per-task"] != "" && s.NumTasks == 0 && len(s.GresPerJob) == 0 && s.NtasksPerNode == 0:
		return lines("Failed to validate job spec. --gpus-per-task used without either --gpus or -n/--ntasks is not allowed.")
	case len(s.GresPerSocket) > 0 && s.SocketsPerNode == 0:
		return lines("--gpus-per-socket option requires --sockets-per-node specification")
	case s.CpusPerGpu > 0 && s.CpusPerTask > 0:
		return lines("--cpus-per-gpu is mutually exclusive with --cpus-per-task")
	case s.MemKind == wire.MemKind_MEM_PER_GPU && !any:
		return lines("Requested mem_per_tres=gres/gpu:" + strconv.FormatUint(s.Mem, 10) + " but did not request any GPU.")
	case s.NtasksPerGpu > 0 && !any && s.NumTasks == 0 && !s.MinNodesSet:
		return lines("gres_job_state_validate: --ntasks-per-tres needs either a GRES GPU specification or a node/ntask specification")
	}
	return nil
}

// tresPerTask reads `cpu=2,gres/gpu=1`, also with colons.
func tresPerTask(o *Options, e *Entry, value string) error {
	var list []*wire.GresRequest
	var texts []string
	for word := range strings.SplitSeq(value, ",") {
		if rest, ok := cutAny(word, "cpu=", "cpu:"); ok {
			n, err := number(rest, "--"+e.Long, 1)
			if err != nil {
				return err
			}
			o.Spec.CpusPerTask = n
			texts = append(texts, "cpu="+rest)
			continue
		}
		rest, ok := cutAny(word, "gres/", "gres:")
		if !ok {
			return NotSupported("--" + e.Long + "=" + word)
		}
		name, rest, _ := strings.Cut(strings.Replace(rest, "=", ":", 1), ":")
		request, ok := gresRequest(name, rest)
		if !ok || name == "" {
			return badGres()
		}
		list = append(list, request)
		texts = append(texts, "gres/"+name+":"+rest)
	}
	o.setGres(e.Long, strings.Join(texts, ","), list)
	return nil
}

func cutAny(word string, prefixes ...string) (string, bool) {
	for _, prefix := range prefixes {
		if rest, ok := strings.CutPrefix(word, prefix); ok {
			return rest, true
		}
	}
	return word, false
}

// GPUText is the value of one of the --gpus options as it was given.
func (o *Options) GPUText(long string) string {
	return strings.ReplaceAll(o.gres[long], "gres/gpu:", "")
}
