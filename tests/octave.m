% What tests/octave.sh runs: reads the results of all kinds of physics with the scripts in examples/.
function octave(work)
    explicit(fullfile(work, 'weld'));
    springs(fullfile(work, 'lattice'));
    voxels(fullfile(work, 'bone'));
    arrivals(fullfile(work, 'heart'));
    fprintf('octave: all results were read\n');
end

function explicit(folder)
    r = read_results(folder);
    assert(strcmp(r.summary.physics, 'explicit'));
    mat = load(fullfile(folder, 'traces.mat'));
    assert(mat.values, r.traces(1).values);
    assert(mat.time, r.traces(1).time);
    assert(mat.names, r.traces(1).names);
    % Step n is sample n - 1 of the history.
    sets = fieldnames(r.hist.sets);
    assert(~isempty(sets));
    n = 0;
    for k = 1:numel(sets)
        set = r.hist.sets.(sets{k});
        for trace = 1:numel(set.nodeNums)
            name = sprintf('%s.%d.U%d', set.name, set.nodeNums(trace), set.nodeDofs(trace));
            column = r.traces(1).values(:, strcmp(r.traces(1).names, name));
            assert(set.histTraces(:, trace), column(2:r.hist.nt + 1));
            at = find(r.field.nodeNums == set.nodeNums(trace));
            assert(r.field.nodeLocs(:, at), set.nodePos(:, trace));
            for store = 1:numel(r.field.times)
                sample = round((r.field.times(store) - r.hist.startMeas) / r.hist.dt) + 1;
                if abs(r.hist.t(sample) - r.field.times(store)) < 1e-6 * r.hist.dt
                    component = {'ux', 'uy', 'uz'}{set.nodeDofs(trace)};
                    assert(r.field.(component)(at, store), set.histTraces(sample, trace));
                    n = n + 1;
                end
            end
        end
    end
    assert(n > 0);
    assert(r.hist.t(1) + r.summary.increment, r.traces(1).time(2), -1e-12);
    assert(any(r.energy.values(:) > 0));
end

function springs(folder)
    r = read_results(folder);
    assert(strcmp(r.summary.physics, 'spring'));
    mat = load(fullfile(folder, 'traces.mat'));
    assert(mat.values, r.traces(1).values);
    assert(any(r.traces(1).values(:) ~= 0));
end

function voxels(folder)
    r = read_results(folder);
    assert(strcmp(r.summary.physics, 'static'));
    assert(size(r.displacement), [r.summary.nodes, 3]);
    assert(size(r.nodes), [r.summary.nodes, 3]);
    assert(all(isfinite(r.displacement(:))) && any(r.displacement(:) ~= 0));
    % Compressed along one axis: both ends are held.
    assert(all(r.nodes(:) >= 0) && all(r.nodes(:) == round(r.nodes(:))));
end

function arrivals(folder)
    r = read_results(folder);
    assert(strcmp(r.summary.physics, 'eikonal'));
    assert(numel(r.arrival), r.summary.nodes);
    assert(min(r.arrival(:)) >= 0 && any(r.arrival(:) > 0));
    assert(isfield(r, 'activation'));
end
