/**
 * A network namespace of Linux for one worker: it reaches this machine only through a pair of virtual interfaces, and
 * nft drops its packets. Unlike a proxy this loses packets, so that the kernel sends them again, and connections cannot
 * be opened.
 */
import { existsSync } from 'node:fs'
import { executable, obtain, run, type Tool } from '../../scripts/services/tools.ts'

const tools: readonly Tool<string>[] = [
  { name: 'ip', packages: ['iproute2'], advice: 'install iproute2.', find: async () => programOf('ip') },
  { name: 'nft', packages: ['nftables'], advice: 'install nftables.', find: async () => programOf('nft') },
]

/** The interfaces of a run are named after its process, so that a later run removes what a killed one left. */
const PREFIX = 'hf'
/** Addresses of private networks that few machines use: four addresses for each namespace. */
const NETWORK = '10.249'
const NETWORKS = 16_384

let why: Promise<string> | undefined

/** Why there can be none here. Empty: there can. */
export function whyNoNamespaces(): Promise<string> {
  why ??= findOut()
  return why
}

async function findOut(): Promise<string> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'network namespaces need root on Linux'
  try {
    await obtain(tools)
    await removeLeftOvers()
    await using namespace = await Namespace.create()
    await namespace.lose({ percent: 100 })
    return ''
  } catch (error) {
    return `network namespaces do not work here: ${String(error).split('\n')[0]}`
  }
}

export class Namespace implements AsyncDisposable {
  readonly name: string
  /** The address of this machine, seen from the namespace. */
  readonly hostAddress: string

  private constructor(name: string, hostAddress: string) {
    this.name = name
    this.hostAddress = hostAddress
  }

  static async create(): Promise<Namespace> {
    const number = nextNumber()
    const name = `${PREFIX}-${process.pid}-${number}`
    const [outside, inside] = [`${PREFIX}${number}o`, `${PREFIX}${number}i`]
    const [host, guest] = [addressOf(number, 1), addressOf(number, 2)]
    await ip('netns', 'add', name)
    const namespace = new Namespace(name, host)
    try {
      await ip('link', 'add', outside, 'type', 'veth', 'peer', 'name', inside, 'netns', name)
      await ip('addr', 'add', `${host}/30`, 'dev', outside)
      await ip('link', 'set', outside, 'up')
      await ip('-n', name, 'addr', 'add', `${guest}/30`, 'dev', inside)
      await ip('-n', name, 'link', 'set', inside, 'up')
      await ip('-n', name, 'link', 'set', 'lo', 'up')
      return namespace
    } catch (error) {
      await namespace[Symbol.asyncDispose]()
      throw error
    }
  }

  /** A command that runs in it. The process id is that of the program itself. */
  command(
    file: string,
    args: readonly string[],
  ): { readonly file: string; readonly args: readonly string[] } {
    return { file: programOf('ip') ?? 'ip', args: ['netns', 'exec', this.name, file, ...args] }
  }

  /** Drops packets until `heal`. `only`: those that leave the namespace, or that enter it. */
  async lose({ percent, only }: { readonly percent: number; readonly only?: 'out' | 'in' }): Promise<void> {
    const rule = percent >= 100 ? 'drop' : `numgen random mod 100 < ${percent} drop`
    const chain = (hook: string) => `chain ${hook} {\n type filter hook ${hook} priority 0\n ${rule}\n }`
    const chains = [...(only === 'in' ? [] : [chain('output')]), ...(only === 'out' ? [] : [chain('input')])]
    await this.heal()
    await this.#nft(`table inet faults {\n ${chains.join('\n')}\n }`)
  }

  async heal(): Promise<void> {
    await this.#nft('table inet faults\ndelete table inet faults')
  }

  /** The interfaces go with it. Its processes must have ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    await ip('netns', 'del', this.name)
  }

  async #nft(rules: string): Promise<void> {
    await run(programOf('ip') ?? 'ip', ['netns', 'exec', this.name, programOf('nft') ?? 'nft', rules])
  }
}

/** Of runs that were killed. */
async function removeLeftOvers(): Promise<void> {
  const { stdout } = await run(programOf('ip') ?? 'ip', ['netns', 'list'])
  for (const [name, pid] of stdout.matchAll(new RegExp(`^${PREFIX}-(\\d+)-\\d+`, 'gm')))
    if (!existsSync(`/proc/${pid}`)) await ip('netns', 'del', name)
}

let created = 0

/** Different in runs that overlap. */
function nextNumber(): number {
  return (process.pid * 64 + created++) % NETWORKS
}

function addressOf(number: number, host: number): string {
  return `${NETWORK}.${number >> 6}.${(number % 64) * 4 + host}`
}

function programOf(name: string): string | undefined {
  return executable(name, ['/usr/sbin', '/sbin'])
}

async function ip(...args: readonly string[]): Promise<void> {
  await run(programOf('ip') ?? 'ip', [...args])
}
