"""A Slurm of one node for a test: its own daemons, ports and files in a temporary folder. One that
runs on the machine is neither asked nor touched."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "scontrol")
os.environ["PATH"] += ":/usr/sbin:/sbin"

CONFIGURATION = """ClusterName=approxtrain
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
SlurmctldPort={controller}
SlurmdPort={node}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmdSpoolDir={folder}/spool
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
KillWait=10
MaxArraySize=1001
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=500 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


class Cluster:
    """Runs as long as the `with` block; `environment` is for its commands."""

    def __init__(self):
        missing = [name for name in NEEDED if shutil.which(name) is None]
        if missing:
            skip(f"no {missing[0]} (scripts/setup --checks installs Slurm)")
        if os.geteuid() != 0:
            skip("only root can start a Slurm of its own")
        self.folder = tempfile.mkdtemp(prefix="approxtrain-slurm-")
        self.daemons = []
        os.chmod(self.folder, 0o755)  # munged wants the folder of its socket to be open to all
        for name in ("spool", "state"):
            os.mkdir(self.file(name))
        controller, node = free_ports(2)
        with open(self.file("slurm.conf"), "w") as out:
            out.write(CONFIGURATION.format(folder=self.folder, controller=controller, node=node,
                                           host=socket.gethostname().split(".")[0],
                                           cpus=os.cpu_count()))
        self.environment = {"SLURM_CONF": self.file("slurm.conf")}

    def file(self, name):
        return os.path.join(self.folder, name)

    def __enter__(self):
        try:
            with open(self.file("munge.key"), "wb") as key:
                os.fchmod(key.fileno(), 0o400)
                key.write(os.urandom(1024))
            self.start("munged", "--foreground", "--force", f"--key-file={self.file('munge.key')}",
                       f"--socket={self.file('munge.socket')}", f"--seed-file={self.file('seed')}",
                       f"--pid-file={self.file('munged.pid')}", f"--log-file={self.file('munged')}")
            self.wait(lambda: os.path.exists(self.file("munge.socket")), "munged")
            self.start("slurmctld", "-D")
            self.wait(lambda: "UP" in self.command("scontrol", "ping"), "slurmctld")
            self.start("slurmd", "-D")
            self.wait(lambda: "idle" in self.command("sinfo", "-h", "-o", "%T").split(), "slurmd")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        """Ends what was started here, by its process number."""
        if len(self.daemons) > 1:
            self.command("scancel", "--user=root")
            self.soon(lambda: not self.command("squeue", "-h").strip(), 20)
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(timeout=20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, *words):
        with open(self.file(f"{words[0]}.out"), "w") as out:
            self.daemons.append(subprocess.Popen(
                words, env={**os.environ, **self.environment}, stdin=subprocess.DEVNULL,
                stdout=out, stderr=subprocess.STDOUT, start_new_session=True))

    def soon(self, what, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if what():
                return True
            time.sleep(0.1)
        return False

    def wait(self, what, daemon):
        if not self.soon(what, 30):
            with open(self.file(f"{daemon}.out")) as out:
                print(out.read())
            raise RuntimeError(f"{daemon} did not come up")

    def command(self, *words):
        done = subprocess.run(words, env={**os.environ, **self.environment}, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        return done.stdout

    def queue(self, what="%F_%K"):
        """What squeue says of each task in it."""
        return self.command("squeue", "--noheader", "--array", f"--format={what}").split("\n")[:-1]

    def running(self):
        return [name for line in self.queue("%F_%K %T") for name, state in [line.split()]
                if state == "RUNNING" and "N/A" not in name]
