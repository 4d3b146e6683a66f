// Launches a command through `host serve`, waits for its end, prints what it printed, and exits with its status.
// node client.mjs COMMAND [ARG...]                                 (docs/routes.md, docs/openapi.json)
import http from 'node:http'
import { randomUUID } from 'node:crypto'
import { homedir } from 'node:os'

const state = process.env.XDG_STATE_HOME || homedir() + '/.local/state' // macOS: ~/Library/Application Support/relay-host/state
const socketPath = process.env.HOST_SOCKET || state + '/relay-host/host.sock'

// request resolves to the answer once its header is there; a refusal is an error in the host's own words.
const request = (method, path, body, headers = {}) => new Promise((resolve, reject) => {
  http.request({ socketPath, method, path, headers }, async res => {
    if (res.statusCode < 300) return resolve(res)
    const text = await textOf(res)
    reject(new Error(`${res.statusCode} ${text && JSON.parse(text).message}`))
  }).on('error', e => {
    if (e.code !== 'ENOENT' && e.code !== 'ECONNREFUSED') return reject(e)
    console.error(`client.mjs: error: no host runs on ${socketPath}: host serve`)
    process.exit(1)
  }).end(body && JSON.stringify(body))
})
const textOf = async res => (await res.setEncoding('utf8').toArray()).join('')

// events yields every event after the one of that id, over new connections where one breaks off.
async function* events(last) {
  for (;;) {
    const res = await request('GET', '/events', null, last ? { 'Last-Event-ID': last } : {})
    let rest = ''
    try {
      for await (const piece of res.setEncoding('utf8')) {
        const frames = (rest + piece).split('\n\n')
        rest = frames.pop()
        for (const frame of frames) {
          const field = Object.fromEntries(frame.split('\n').map(line => line.split(/: ?(.*)/s, 2)))
          last = field.id || last
          if (field.id) yield { name: field.event, data: JSON.parse(field.data || '{}') } // one without a name: connected
          if (process.env.BREAK && field.event === 'launch') { process.env.BREAK = ''; res.destroy() } // for trying it
        }
      }
    } catch (e) { if (e.code !== 'ECONNRESET' && !res.destroyed) throw e }
  }
}

if (process.argv.length < 3) {
  console.error('usage: node client.mjs COMMAND [ARG...]')
  process.exit(70)
}
const session_id = randomUUID()
for await (const { name, data } of events()) {
  if (!name) {
    await request('POST', '/launch', { v: 1, session_id, kind: 'pi', directory: process.cwd(), argv: process.argv.slice(2), sandbox: {} })
  } else if (name === 'reset' ? (await sessionOf()).state === 'ended' : name === 'end' && data.session_id === session_id) break
}
async function sessionOf() { return JSON.parse(await textOf(await request('GET', '/sessions/' + session_id))) }
process.stdout.write(await textOf(await request('GET', `/sessions/${session_id}/log`)))
process.exit((await sessionOf()).exit_status)
