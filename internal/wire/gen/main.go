// Command gen turns the .proto files of internal/wire into Go.
//
// It compiles them in process and runs the plugins of go.mod's tool
// section, so that neither protoc nor anything else outside of the module is
// needed. It must not be imported by, or linked into, any program of ours.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen FOLDER")
		os.Exit(2)
	}
	if err := generate(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func generate(dir string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*.proto"))
	if err != nil {
		return err
	}
	sort.Strings(paths)
	var names []string
	for _, p := range paths {
		names = append(names, filepath.Base(p))
	}
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{dir}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(context.Background(), names...)
	if err != nil {
		return fmt.Errorf("compile: %w", err)
	}
	var set []*descriptorpb.FileDescriptorProto
	seen := map[string]bool{}
	for _, f := range files {
		imports := f.Imports()
		for i := range imports.Len() {
			imp := imports.Get(i)
			if !seen[imp.Path()] {
				seen[imp.Path()] = true
				set = append(set, protodesc.ToFileDescriptorProto(imp.FileDescriptor))
			}
		}
		if !seen[f.Path()] {
			seen[f.Path()] = true
			set = append(set, protodesc.ToFileDescriptorProto(f))
		}
	}
	for _, p := range []struct {
		name, parameter string
		set             []*descriptorpb.FileDescriptorProto
	}{
		{"protoc-gen-go", "", set},
		// Marshal and Unmarshal are those of encoding.go.
		{"protoc-gen-go-drpc", ",json=false,protolib=muster/internal/wire", set},
		{"protoc-gen-go-vtproto", ",features=marshal+unmarshal+size+clone", proto3(set)},
	} {
		if err := run(p.name, "paths=source_relative"+p.parameter, dir, names, p.set); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// proto3 shows the files as the older syntax, which is the same to a plugin that
// does not know editions: no field of ours tracks its presence.
func proto3(set []*descriptorpb.FileDescriptorProto) []*descriptorpb.FileDescriptorProto {
	var out []*descriptorpb.FileDescriptorProto
	for _, f := range set {
		f = proto.CloneOf(f)
		f.Syntax, f.Edition = proto.String("proto3"), nil
		if f.Options != nil {
			f.Options.Features = nil
		}
		out = append(out, f)
	}
	return out
}

func run(plugin, param, dir string, names []string, set []*descriptorpb.FileDescriptorProto) error {
	in, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: names, Parameter: &param, ProtoFile: set,
	})
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "tool", plugin)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	var resp pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &resp); err != nil {
		return err
	}
	if resp.GetError() != "" {
		return fmt.Errorf("%s", strings.TrimSpace(resp.GetError()))
	}
	for _, f := range resp.GetFile() {
		if err := os.WriteFile(filepath.Join(dir, f.GetName()), []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
