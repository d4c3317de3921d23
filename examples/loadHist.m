% Reads a .pogo-hist file of version 1.07, which pogo-solve --pogo-files writes, in MATLAB or GNU Octave:
%   h = loadHist('weld.out/weld.pogo-hist');
%   plot(h.t, h.sets.RECEIVERS.histTraces)
% h.t is the time of the samples in s. Each set has nodeNums and nodeDofs (from 1), nodePos (dimensions x traces, m) and
% histTraces (samples x traces, m); a set of sums over groups has dofGroup in place of nodeNums and nodeDofs. docs/pogo-files.md says how the samples lie in time.
function h = loadHist(path)
    file = fopen(path, 'r', 'ieee-le');
    if file < 0
        error('cannot open %s', path);
    end
    close_file = onCleanup(@() fclose(file));
    if ~strcmp(pogoText(file, 20), '%pogo-hist') || any(pogoNumber(file, 'int32', 2) ~= [1; 7])
        error('%s is no .pogo-hist file of version 1.07', path);
    end
    pogoSection(file, 'generalInfo', path);
    info = pogoNumber(file, 'int32', 4);
    reals = {'float32', 'float64'};
    real = reals{info(1) / 4};
    n_dims = info(2);
    h.nt = info(4);
    h.dt = pogoNumber(file, real, 1);
    h.startMeas = pogoNumber(file, real, 1);
    h.t = h.startMeas + h.dt * (0:h.nt - 1)';
    h.sets = struct();
    pogoSection(file, 'measSets', path);
    for k = 1:info(3)
        name = pogoText(file, 20);
        n = pogoNumber(file, 'int32', 1);
        set = struct('name', name, 'nodeNums', zeros(n, 1), 'nodeDofs', zeros(n, 1), 'nodePos', zeros(n_dims, n), ...
                     'histTraces', zeros(h.nt, n));
        for trace = 1:n
            place = pogoNumber(file, 'int32', 2) + 1;
            set.nodeNums(trace) = place(1);
            set.nodeDofs(trace) = place(2);
            set.nodePos(:, trace) = pogoNumber(file, real, n_dims);
            set.histTraces(:, trace) = pogoNumber(file, real, h.nt);
        end
        if n > 0 && all(set.nodeDofs == 0)
            set.dofGroup = set.nodeNums;
            set = rmfield(set, {'nodeNums', 'nodeDofs'});
        end
        h.sets.(field(name)) = set;
    end
end

% A name that a field of a struct can have.
function name = field(name)
    name = regexprep(strrep(name, '.', 'p'), '^[^A-Za-z0-9_]+', 's');
    name = regexprep(name, '[^A-Za-z0-9_]+', '_');
    name = regexprep(name, '^(\d)', 'n$1');
end
