import { describe, expect, it, vi } from 'vitest'
import { captureResponse, type NodeResponse } from './capture-response.ts'

/** A response of Node that notes what reaches the client. */
function fakeResponse() {
  const sent: string[] = []
  const headers: Record<string, string> = {}
  const response: NodeResponse = {
    statusCode: 200,
    statusMessage: '',
    getHeaders: () => headers,
    setHeader: (name, value) => {
      headers[name.toLowerCase()] = String(value)
    },
    write: (chunk) => sent.push(`write ${Buffer.from(chunk as Uint8Array)}`) > 0,
    end: (chunk) => sent.push(`end ${Buffer.from((chunk as Uint8Array | undefined) ?? [])}`),
    writeHead: (status) => sent.push(`head ${status}`),
    flushHeaders: () => void sent.push('headers'),
    once: () => {},
  }
  return { response, sent, headers }
}

describe('a captured response', () => {
  it('a captured response holds everything back until it is released', () => {
    const { response, sent } = fakeResponse()
    const finished = vi.fn()
    const captured = captureResponse(response, 100, finished)
    const [written, ended] = [vi.fn(), vi.fn()]
    expect(response.write('ab', written)).toBe(true)
    response.write('6364', 'hex')
    expect([captured.isFinished(), finished.mock.calls]).toEqual([false, []])
    response.end(new Uint8Array([101]), ended)
    response.end('never')
    expect(captured.isFinished()).toBe(true)
    expect(finished).toHaveBeenCalledExactlyOnceWith(new TextEncoder().encode('abcde'))
    expect([sent, written.mock.calls, ended.mock.calls]).toEqual([[], [], []])
    captured.release()
    expect(sent).toEqual(['end abcde'])
    expect([written, ended].map(({ mock }) => mock.calls.length)).toEqual([1, 1])
  })

  it('a captured response is passed on in parts when it is larger than the limit', () => {
    const { response, sent } = fakeResponse()
    const finished = vi.fn()
    const captured = captureResponse(response, 3, finished)
    response.write('abc')
    expect(finished).not.toHaveBeenCalled()
    response.write('d')
    expect(finished).toHaveBeenCalledExactlyOnceWith('too-large')
    response.write('e')
    captured.release()
    response.write('f')
    response.end('g')
    expect(sent).toEqual(['write abcde', 'write f', 'end g'])
  })

  it('a captured response is a stream when its headers are sent alone', () => {
    const { response, sent } = fakeResponse()
    const finished = vi.fn()
    const captured = captureResponse(response, 100, finished)
    response.flushHeaders()
    expect(finished).toHaveBeenCalledExactlyOnceWith('stream')
    captured.release()
    response.write('a')
    expect(sent).toEqual(['headers', 'write a'])
  })

  it('a captured response is a stream when its type is one of events', () => {
    const { response } = fakeResponse()
    const finished = vi.fn()
    captureResponse(response, 100, finished)
    response.setHeader('Content-Type', 'text/event-stream; charset=utf-8')
    response.write('data: 1\n\n')
    expect(finished).toHaveBeenCalledExactlyOnceWith('stream')
  })

  it.each([
    [[202, 'Fine', { 'X-A': '1', 'X-B': '2' }]],
    [[202, 'Fine', ['X-A', '1', 'X-B', '2']]],
    [
      [
        202,
        'Fine',
        [
          ['X-A', '1'],
          ['X-B', '2'],
        ],
      ],
    ],
  ])('a captured response takes status, message and headers from writeHead%j', ([status, ...rest]) => {
    const { response, sent, headers } = fakeResponse()
    captureResponse(response, 100, () => {})
    response.writeHead(status as number, ...(rest as unknown[]))
    expect([response.statusCode, response.statusMessage]).toEqual([202, 'Fine'])
    expect(headers).toEqual({ 'x-a': '1', 'x-b': '2' })
    response.writeHead(204)
    expect([response.statusCode, sent]).toEqual([204, []])
  })
})
