import { expect, it } from 'vitest'
import { serviceBed } from '../../../test/server/service-bed.ts'
import { isForService, nodeListener } from './node-listener.ts'

it('the listener takes every path of the service, and leaves those of the host', async () => {
  await using bed = await serviceBed()
  const { paths } = (await bed.browser().call('GET', '/openapi.json')).body as unknown as { paths: object }
  expect(Object.keys(paths).filter((path) => !isForService(path.replace(/\{\w+\}/g, 'x')))).toEqual([])
  for (const path of ['/', '/api', '/api/users', '/app', '/apparel', '/metrics-of-mine', '/healthzz'])
    expect(isForService(path), path).toBe(false)
  expect(isForService('/api/leases?resource=a')).toBe(true)
})

it('the listener of Node refuses a malformed path', async () => {
  await using bed = await serviceBed()
  for (const path of ['locks', '/locks/', '/a b', 7])
    expect(() => nodeListener(bed.server, { path: path as string })).toThrow('path: expected')
})
