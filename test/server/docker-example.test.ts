import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { parseDuration } from '../../src/base/duration.ts'
import { flagOf, SETTINGS, variableOf } from '../../src/configuration/settings.ts'
import { createServer } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { SECRETS } from './service-bed.ts'

const folder = join(root, 'examples/docker')
const files = [...globSync('examples/docker/*', { cwd: root }), 'docs/laravel.md', 'docs/operations.md']
const read = (name: string) => readFileSync(join(folder, name), 'utf8')

it.each(files)('%s names only settings that exist', (file) => {
  const known = Object.keys(SETTINGS).map((name) => variableOf(flagOf(name)))
  const named = readFileSync(join(root, file), 'utf8').match(/\bHOLDFAST_\w+/g) ?? []
  expect(named.filter((name) => !known.includes(name))).toEqual([])
})

describe('the Dockerfile', () => {
  const text = read('Dockerfile')
  const instructions = text.replaceAll('\\\n', ' ').match(/^[A-Z]+ .*$/gm) ?? []
  const argumentsOf = (name: string) =>
    instructions.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1))

  it('the Dockerfile has two stages, another user than root, and starts the server', () => {
    expect(argumentsOf('FROM')).toEqual(['node:24-alpine AS packages', 'node:24-alpine'])
    expect(argumentsOf('USER')).toEqual(['node'])
    expect([...argumentsOf('ENTRYPOINT'), ...argumentsOf('CMD')]).toEqual(['["holdfast"]', '["serve"]'])
  })

  // The image has `wget`; this machine may not.
  it.runIf(spawnSync('wget', ['--version']).status === 0)(
    'has a health check that tells a ready server from one that stops, also with names of its own',
    async () => {
      const server = await createServer({
        store: memoryStore(),
        log: () => {},
        settings: { ...SECRETS, port: 0, hosts: 'locks.example.com,other.example.com' },
      })
      onTestFinished(() => server.close())
      const [, command = ''] = /CMD (.*)$/.exec(argumentsOf('HEALTHCHECK')[0] ?? '') ?? []
      const { PATH } = process.env
      const check = async (names: string) => {
        const env = { PATH, HOLDFAST_PORT: String(server.port), HOLDFAST_HOSTS: names }
        const [code] = await once(spawn('sh', ['-c', command], { env }), 'exit')
        return code
      }
      expect(await check('locks.example.com,other.example.com')).toBe(0)
      expect(await check('unknown.example.com')).not.toBe(0)
      server.locks.drain()
      expect(await check('locks.example.com')).not.toBe(0)
    },
  )
})

/** Python's parser: the package has none of its own. */
const PARSE = 'import json, sys, yaml; json.dump(list(yaml.safe_load_all(sys.stdin)), sys.stdout)'
const hasParser = spawnSync('python3', ['-c', 'import yaml']).status === 0

function parseYaml(name: string) {
  const { stdout, stderr } = spawnSync('python3', ['-c', PARSE], { input: read(name), encoding: 'utf8' })
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}

// Without a parser of YAML on this machine there is nothing to check with.
describe.runIf(hasParser)('the YAML files', () => {
  const stopMs = SETTINGS.stopWithin.default

  it('kubernetes.yaml leaves enough time for the drain, and probes the right routes', () => {
    const documents = parseYaml('kubernetes.yaml') as readonly { readonly kind: string }[]
    const kinds = documents.map(({ kind }) => kind)
    expect(kinds).toEqual(['Job', 'Deployment', 'Service', 'PodDisruptionBudget'])
    const { spec } = (
      documents[1] as never as { readonly spec: { readonly template: { readonly spec: Pod } } }
    ).spec.template
    const [container] = spec.containers
    const drain = container.env.find(({ name }) => name === 'HOLDFAST_DRAIN')?.value ?? ''
    expect(spec.terminationGracePeriodSeconds * 1000).toBeGreaterThan(parseDuration(drain) + stopMs)
    expect(container.readinessProbe.httpGet.path).toBe('/readyz')
    expect(container.livenessProbe.httpGet.path).toBe('/healthz')
    expect(parseDuration(drain)).toBeGreaterThan(container.readinessProbe.periodSeconds * 1000)
    expect(spec.securityContext.runAsNonRoot).toBe(true)
    expect(spec.enableServiceLinks).toBe(false)
  })

  it('compose.yaml migrates first, and leaves enough time for the drain', () => {
    const [{ services }] = parseYaml('compose.yaml')
    expect(Object.keys(services)).toEqual(['migrate', 'node', 'postgres', 'proxy'])
    const { environment, stop_grace_period, depends_on } = services.node
    expect(parseDuration(stop_grace_period)).toBeGreaterThan(
      parseDuration(environment.HOLDFAST_DRAIN) + stopMs,
    )
    expect(depends_on.migrate.condition).toBe('service_completed_successfully')
  })
})

interface Pod {
  readonly terminationGracePeriodSeconds: number
  readonly enableServiceLinks: boolean
  readonly securityContext: { readonly runAsNonRoot: boolean }
  readonly containers: readonly [
    {
      readonly env: readonly { readonly name: string; readonly value?: string }[]
      readonly readinessProbe: Probe & { readonly periodSeconds: number }
      readonly livenessProbe: Probe
    },
  ]
}

interface Probe {
  readonly httpGet: { readonly path: string }
}

it('the unit of systemd restarts after a pause, and leaves enough time to stop', () => {
  const unit = read('holdfast.service')
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? ''
  expect([value('Restart'), Number(value('RestartSec'))]).toEqual(['on-failure', 2])
  expect(Number(value('TimeoutStopSec')) * 1000).toBeGreaterThan(SETTINGS.stopWithin.default)
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', join(folder, 'holdfast.service')], {
    encoding: 'utf8',
  })
  // Only where systemd is installed.
  if (status !== null) expect(stderr).not.toMatch(/holdfast\.service:\d+:/)
})
