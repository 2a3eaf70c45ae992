// Command gen turns the .proto files of internal/wire into Go.
//
// It compiles them in process and runs the two plugins of go.mod's tool
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
	for _, plugin := range []string{"protoc-gen-go", "protoc-gen-go-drpc"} {
		if err := run(plugin, dir, names, set); err != nil {
			return fmt.Errorf("%s: %w", plugin, err)
		}
	}
	return nil
}

func run(plugin, dir string, names []string, set []*descriptorpb.FileDescriptorProto) error {
	param := "paths=source_relative"
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
