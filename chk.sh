python3 - <<P
import json,shlex,subprocess,sys
db=json.load(open("build/dev/compile_commands.json"))
n=0
for t in ("octet_quant","octet_layers","octet_runtime","octet_io","io_test","quant_test","layers_test","runtime_test","train_test","gradients_test","e2e_test"):
    es=[e for e in db if f"/{t}.dir/Unity/" in e["file"]]
    for e in es:
        a=shlex.split(e["command"])
        while not a[0].endswith("c++") and not a[0].endswith("g++"): a=a[1:]
        i=a.index("-o"); del a[i:i+2]; i=a.index("-c"); del a[i:i+2]
        r=subprocess.run(a+["-fsyntax-only",e["file"]],cwd=e["directory"],capture_output=True,text=True)
        n+=1
        if r.returncode: print(e["file"],r.returncode); print("\n".join([l for l in r.stderr.splitlines() if "error" in l][:10]),flush=True)
print(n)
P
