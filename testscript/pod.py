"""Runs a Kubernetes manifest's pod spec as a node does, without a cluster: pod.py MANIFEST ROOTFS BUNDLE PROFILE NAME=DIR...

Writes BUNDLE/config.json for `runc run`, from the spec's first container, or the one that CONTAINER names: command,
environment, users, volumes, security context. Of its startup probe it writes BUNDLE/probe.json for `runc exec --process`.
VOLUMES is the folder of the pod's volumes, and NETNS its network, both of a container of the pod that runs already. PROFILE is the runtime's seccomp profile as its package has it, flattened for a process without capabilities.
NAME=DIR is the content of the secret or configMap volume NAME. NO_USERNS=1 refuses user namespaces as other runtimes'
profiles do. No resource limits and no cgroup: those cannot be had inside another sandbox.
"""

import json
import os
import shutil
import sys

CLONE_NEWUSER = 0x10000000


def flatten(profile, no_userns):
    """The rules of a containers-common or Moby profile that hold for amd64 without any capability."""
    rules = []
    for rule in profile["syscalls"]:
        includes, excludes = rule.get("includes") or {}, rule.get("excludes") or {}
        if includes.get("caps") or "arches" in includes and not {"amd64", "x32", "x86_64"} & set(includes["arches"]):
            continue
        if {"amd64", "x86_64"} & set(excludes.get("arches", [])):
            continue
        flat = {"names": list(rule["names"]), "action": rule["action"]}
        if rule.get("args"):
            flat["args"] = [{k: v for k, v in arg.items()} for arg in rule["args"]]
        if "errnoRet" in rule:
            flat["errnoRet"] = rule["errnoRet"]
        if no_userns and flat["action"] == "SCMP_ACT_ALLOW":
            flat["names"] = [n for n in flat["names"] if n not in ("unshare", "clone", "clone3")]
        if flat["names"]:
            rules.append(flat)
    if no_userns:
        masked = {"index": 0, "value": CLONE_NEWUSER | 0x6E020000, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}
        rules.append({"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [masked]})
        rules.append({"names": ["unshare"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1})
        rules.append({"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38})
    return {
        "defaultAction": profile["defaultAction"],
        "defaultErrnoRet": 1 if no_userns else profile.get("defaultErrnoRet", 1),
        "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
        "syscalls": rules,
    }


def projected(source, target, mode, gid):
    """A secret's or configMap's folder as the kubelet makes it: files behind two links, the folder open to all and sticky."""
    data = os.path.join(target, "..2026_01_01")
    os.makedirs(data)
    for name in os.listdir(source):
        shutil.copyfile(os.path.join(source, name), os.path.join(data, name))
        os.chown(os.path.join(data, name), 0, gid)
        os.chmod(os.path.join(data, name), mode | (0o040 if gid else 0))
        os.symlink("..data/" + name, os.path.join(target, name))
    os.symlink("..2026_01_01", os.path.join(target, "..data"))
    os.chmod(data, 0o755)
    os.chown(target, 0, gid)
    os.chmod(target, 0o3777 if gid else 0o1777)


def main():
    manifest, rootfs, bundle, profile, *contents = sys.argv[1:]
    spec = json.load(open(manifest))["spec"]
    spec = spec.get("template", {}).get("spec", spec)
    boxes = spec["containers"] + spec.get("initContainers", [])
    pod, box = spec.get("securityContext", {}), next(b for b in boxes if b["name"] == os.environ.get("CONTAINER", boxes[0]["name"]))
    own = box.get("securityContext", {})
    gid = pod.get("fsGroup", 0)
    content = dict(c.split("=", 1) for c in contents)

    mounts = [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "strictatime", "mode=755", "size=65536k"]},
        {"destination": "/dev/pts", "type": "devpts", "source": "devpts", "options": ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"]},
        {"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": ["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"]},
        {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["nosuid", "noexec", "nodev", "ro"]},
    ]
    volumes = {v["name"]: v for v in spec.get("volumes", [])}
    for mount in box.get("volumeMounts", []):
        volume = volumes[mount["name"]]
        path = os.path.join(os.path.abspath(os.environ.get("VOLUMES", bundle + "/volumes")), mount["name"])
        kind = volume.get("secret") or volume.get("configMap")
        if os.path.exists(path):
            pass  # another container of the pod has it too
        elif kind is not None:
            projected(content[mount["name"]], path, kind.get("defaultMode", 0o644), gid)
        else:
            os.makedirs(path)
            os.chown(path, 0, gid)
            os.chmod(path, 0o2777)
            if mount["name"] in content:
                shutil.copytree(content[mount["name"]], path, dirs_exist_ok=True)
                for top, dirs, files in os.walk(path):
                    for name in dirs + files:
                        os.chown(os.path.join(top, name), pod["runAsUser"], gid)
        options = ["rbind"] + (["ro"] if mount.get("readOnly") else [])
        mounts.append({"destination": mount["mountPath"], "type": "bind", "source": path, "options": options})

    assert own["capabilities"]["drop"] == ["ALL"], "a container that keeps capabilities is not tried here"
    process = {
        "user": {"uid": pod["runAsUser"], "gid": pod["runAsGroup"], "additionalGids": [gid] if gid else []},
        "args": box["command"] + box.get("args", []),
        "cwd": box.get("workingDir", "/"),
        "env": ["PATH=/usr/local/bin:/usr/bin:/bin"] + [f"{e['name']}={e['value']}" for e in box.get("env", [])],
        "noNewPrivileges": not own["allowPrivilegeEscalation"],
        "capabilities": {},
    }
    network = {"type": "network"}
    if "NETNS" in os.environ:
        network["path"] = os.environ["NETNS"]
    linux = {
        "namespaces": [{"type": t} for t in ("pid", "mount", "ipc", "uts")] + [network],
        "maskedPaths": ["/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/sched_debug", "/proc/scsi", "/sys/firmware"],
        "readonlyPaths": ["/proc/asound", "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"],
    }
    if pod.get("seccompProfile", {}).get("type") == "RuntimeDefault":
        linux["seccomp"] = flatten(json.load(open(profile)), os.environ.get("NO_USERNS") == "1")
    config = {
        "ociVersion": "1.0.2",
        "process": process,
        "root": {"path": os.path.abspath(rootfs), "readonly": own.get("readOnlyRootFilesystem", False)},
        "mounts": mounts,
        "linux": linux,
    }
    with open(os.path.join(bundle, "config.json"), "w") as out:
        json.dump(config, out, indent=1)
    probe = box.get("startupProbe", {}).get("exec")
    if probe:
        with open(os.path.join(bundle, "probe.json"), "w") as out:
            json.dump({**process, "args": probe["command"]}, out)


main()
