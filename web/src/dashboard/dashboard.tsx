import { useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import { PageHeader } from '../ui/page-header.tsx'
import { usePreferences } from '../ui/preferences.ts'
import { AuditTrail } from './audit-trail.tsx'
import { EventStream } from './event-stream.tsx'
import { Figures } from './figures.tsx'
import { LeaseDrawer } from './lease-drawer.tsx'
import { LeaseTable } from './lease-table.tsx'
import { type LiveLease, LiveLeases, LOADING } from './live-leases.ts'
import { LiveMark, useSilence } from './live-mark.tsx'
import { StoppedAt } from './live-times.tsx'
import { Plots } from './plots.tsx'
import { ReleaseDialog } from './release-dialog.tsx'
import { SignIn, useToken } from './sign-in.tsx'
import { dashboardTexts } from './texts.ts'

const TABS = ['leases', 'plots', 'audit'] as const

export function Dashboard() {
  const [{ lang }] = usePreferences()
  const words = dashboardTexts[lang]
  const [token, setToken] = useToken()
  const live = useLiveLeases(token)
  const { phase, isLoaded, leases, events, stats, plotted, range, audit } = useSyncExternalStore(
    (listener) => live?.subscribe(listener) ?? (() => {}),
    () => live?.state ?? LOADING,
  )
  const waiting = useMemo(
    () => new Map(stats?.queues.map(({ resource, waiting }) => [resource, waiting])),
    [stats],
  )
  const viewed = useMemo(() => new Map(stats?.viewed.map((room) => [room.resource, room])), [stats])
  const isSilent = useSilence(live)
  const stoppedAt = live && (isSilent || phase === 'offline') ? live.heardAt : null
  const [tab, setTab] = useState<(typeof TABS)[number]>('leases')
  const [selected, setSelected] = useState<string | null>(null)
  const [releasing, setReleasing] = useState<LiveLease | null>(null)
  return (
    <StoppedAt value={stoppedAt}>
      <PageHeader current="dashboard">
        <LiveMark live={live} phase={phase} isSilent={isSilent} words={words} />
      </PageHeader>
      <main className="dashboard" data-stopped={stoppedAt !== null}>
        {phase === 'signed-out' ? (
          <SignIn words={words} isWrong={token !== ''} onToken={setToken} />
        ) : (
          <>
            <Figures
              live={leases.filter(({ state }) => state === 'held').length}
              stats={stats}
              words={words}
            />
            <div className="bar tabs">
              {TABS.map((name) => (
                <button key={name} type="button" aria-pressed={tab === name} onClick={() => setTab(name)}>
                  {words[name]}
                </button>
              ))}
            </div>
            {tab === 'leases' && (
              <div className="columns">
                <LeaseTable
                  leases={leases}
                  waiting={waiting}
                  viewed={viewed}
                  isLoading={!isLoaded}
                  selected={selected}
                  words={words}
                  onSelect={setSelected}
                />
                {selected !== null && live ? (
                  <LeaseDrawer
                    resource={selected}
                    live={live}
                    leases={leases}
                    events={events}
                    waiting={waiting.get(selected) ?? 0}
                    viewing={viewed.get(selected)?.count ?? 0}
                    words={words}
                    onRelease={setReleasing}
                    onClose={() => setSelected(null)}
                  />
                ) : (
                  <EventStream events={events} words={words} onSelect={setSelected} />
                )}
              </div>
            )}
            {tab === 'plots' && (
              <Plots
                stats={plotted}
                range={range}
                words={words}
                onRange={(range) => live?.showRange(range)}
              />
            )}
            {tab === 'audit' && <AuditTrail entries={audit} words={words} />}
          </>
        )}
      </main>
      {releasing !== null && live && (
        <ReleaseDialog
          lease={releasing}
          isShared={leases.filter(({ resource }) => resource === releasing.resource).length > 1}
          words={words}
          onConfirm={() => live.release(releasing)}
          onClose={() => setReleasing(null)}
        />
      )}
    </StoppedAt>
  )
}

function useLiveLeases(token: string): LiveLeases | null {
  const [live, setLive] = useState<LiveLeases | null>(null)
  useEffect(() => {
    const opened = new LiveLeases(token)
    setLive(opened)
    return () => opened.close()
  }, [token])
  return live
}
